// SPDX-License-Identifier: Apache-2.0
package org.idemkey.faults;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.idemkey.faults.TcpProxy.Direction;

/**
 * Breaks a connection as certain bytes pass, which is how a fault is put between two steps that are microseconds apart.
 * Springs once. Thread-safe.
 */
final class Trap {

    private final Direction direction;
    private final List<byte[]> wanted;
    private final AtomicInteger countdown;
    private final Passing passing;
    private final Runnable action;
    private final CompletableFuture<Void> sprung = new CompletableFuture<>();

    /** How much of the piece that springs the trap goes on its way. */
    enum Passing {
        NOTHING,
        HALF,
        ALL
    }

    /**
     * A trap.
     *
     * @param wanted ASCII texts, one of which a piece must hold
     * @param nth how many such pieces it takes, 1 or more: the last one springs it
     * @param passing what becomes of that piece
     * @param action done after that, and before the connection is reset
     */
    Trap(Direction direction, List<String> wanted, int nth, Passing passing, Runnable action) {
        this.direction = direction;
        this.wanted = wanted.stream()
                .map(text -> text.getBytes(StandardCharsets.US_ASCII))
                .toList();
        this.countdown = new AtomicInteger(nth);
        this.passing = passing;
        this.action = action;
    }

    /** Whether this piece springs it; true once at most. */
    boolean isSprungBy(Direction way, byte[] bytes, int length) {
        return way == direction && holdsWanted(bytes, length) && countdown.decrementAndGet() == 0;
    }

    private boolean holdsWanted(byte[] bytes, int length) {
        for (byte[] text : wanted) {
            for (int at = 0; at + text.length <= length; at++) {
                if (Arrays.equals(bytes, at, at + text.length, text, 0, text.length)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** How many bytes of the piece pass. */
    int passes(int length) {
        return switch (passing) {
            case NOTHING -> 0;
            case HALF -> length / 2;
            case ALL -> length;
        };
    }

    /** Does what was to be done. */
    void act() {
        action.run();
        sprung.complete(null);
    }

    /** Waits until the trap was sprung; answers whether it was. */
    boolean await(long millis) throws InterruptedException {
        try {
            sprung.get(millis, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw new AssertionError(e);
        }
    }
}
