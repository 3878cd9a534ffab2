// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

import java.util.concurrent.CompletionStage;

/**
 * Sends events to a broker, or to whoever shall get them. A relay calls it from one thread; several relays may share it.
 */
@FunctionalInterface
public interface MessagePublisher {

    /**
     * Hands an event over.
     *
     * <p>A relay never hands over an event before those that go before it in its aggregate are acknowledged. A publisher
     * keeps the order if it doesn't acknowledge too early; it need not serialise anything by itself.
     *
     * @return completes once the broker has the event for good; exceptionally if it is not known to have it, whereupon
     *     the event will be handed over again
     * @throws RuntimeException just as well, instead of a stage that failed
     */
    CompletionStage<?> publish(OutboxEvent event);
}
