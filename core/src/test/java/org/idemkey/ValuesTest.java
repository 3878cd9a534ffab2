// SPDX-License-Identifier: Apache-2.0
package org.idemkey;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.idemkey.StoredResponse.Header;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ValuesTest {

    private static final IdempotencyKey KEY = new IdempotencyKey(Scope.ANONYMOUS, "secret");

    /** Line 10. */
    @Test
    void noCallersNameMakesAnotherScope() {
        Set<Scope> scopes = new HashSet<>();
        for (String name : new String[] {"", "a:", "p:", "alice", "Alice", "alice ", "p:alice", "\u00e9", "e\u0301"}) {
            assertThat(scopes.add(Scope.caller(name))).isTrue();
        }
        assertThat(scopes)
                .doesNotContain(Scope.ANONYMOUS)
                .allSatisfy(scope -> assertThat(scope.value()).startsWith("p:").hasSize(45));
        assertThat(Scope.caller("alice")).isEqualTo(Scope.caller("alice"));
    }

    /** Line 68. */
    @Test
    void aKeyShowsNoValue() {
        assertThat(KEY.toString()).startsWith("a:/#").doesNotContain("secret").hasSize(16);
        assertThat(new Lease.LostException(KEY)).hasMessageNotContaining("secret");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "\n", "\u007f", "\u00e9"})
    void aKeyIsPrintableAscii(String value) {
        assertThatIllegalArgumentException().isThrownBy(() -> new IdempotencyKey(Scope.ANONYMOUS, value));
    }

    @Test
    void boundsAreChecked() {
        assertThatIllegalArgumentException().isThrownBy(() -> new IdempotencyKey(Scope.ANONYMOUS, "x".repeat(256)));
        assertThatIllegalArgumentException().isThrownBy(() -> new Scope(""));
        assertThatIllegalArgumentException().isThrownBy(() -> new Scope("x".repeat(65)));
        assertThatIllegalArgumentException().isThrownBy(() -> new Fingerprint("A".repeat(64)));
        assertThatIllegalArgumentException().isThrownBy(() -> new Terms(Duration.ZERO, Duration.ofDays(1)));
        assertThatIllegalArgumentException().isThrownBy(() -> StoredResponse.of(99, List.of(), Bytes.EMPTY));
    }

    /** Line 69. */
    @ParameterizedTest
    @ValueSource(strings = {"a\r\nSet-Cookie: x", "a\nb", "a\u0000", "a\u007f"})
    void aHeaderValueCannotSplitAResponse(String value) {
        assertThatIllegalArgumentException().isThrownBy(() -> new Header("Location", value));
        assertThatIllegalArgumentException().isThrownBy(() -> new Header(value, "x"));
    }

    @Test
    void anErrorPageKeepsItsMessageApartFromTheFields() {
        StoredResponse page = StoredResponse.errorPage(404, List.of(new Header("X", "1")), "gone\r\nX: 2");
        assertThat(page.errorMessage()).contains("gone  X: 2");
        assertThat(page.fields()).containsExactly(new Header("X", "1"));
        assertThat(page.headers()).hasSize(2);
        assertThat(StoredResponse.of(404, List.of(), Bytes.EMPTY).errorMessage())
                .isEmpty();
    }

    @Test
    void whatAHandlerWroteIsMadeFitToBeKept() {
        assertThat(Header.lenient("X-Note", "one\r\ntwo\tthree\u007f", true))
                .contains(new Header("X-Note", "one  two\tthree ", true));
        assertThat(Header.lenient("X Note", "1", false)).isEmpty();
        assertThat(Header.lenient("", "1", false)).isEmpty();
    }

    @Test
    void bytesNeverChangeAndCompareByContent() {
        byte[] source = {1, 2, 3};
        Bytes bytes = Bytes.copyOf(source);
        source[0] = 9;
        bytes.toByteArray()[1] = 9;
        assertThat(bytes)
                .isEqualTo(Bytes.wrap(new byte[] {1, 2, 3}))
                .isEqualTo(Bytes.copyOf(new byte[] {0, 1, 2, 3}, 1, 3));
        assertThat(bytes).hasSameHashCodeAs(Bytes.wrap(new byte[] {1, 2, 3})).hasToString("3 bytes");
    }

    @Test
    void downstreamKeysAreStableAndUnlikeEachOther() {
        IdempotencyContext context = contextOf(KEY, 1);
        String charge = context.downstreamKey("charge");
        assertThat(charge).isEqualTo(contextOf(KEY, 2).downstreamKey("charge"));
        assertThat(UUID.fromString(charge)).satisfies(uuid -> {
            assertThat(uuid.version()).isEqualTo(8);
            assertThat(uuid.variant()).isEqualTo(2);
        });
        IdempotencyKey otherScope = new IdempotencyKey(Scope.caller("alice"), "secret");
        assertThat(List.of(
                        charge,
                        context.downstreamKey("refund"),
                        context.downstreamKey(""),
                        contextOf(otherScope, 1).downstreamKey("charge"),
                        contextOf(new IdempotencyKey(Scope.ANONYMOUS, "secretc"), 1)
                                .downstreamKey("harge")))
                .doesNotHaveDuplicates();
    }

    private static IdempotencyContext contextOf(IdempotencyKey key, int attempt) {
        return new IdempotencyContext(new Lease() {
            @Override
            public IdempotencyKey key() {
                return key;
            }

            @Override
            public UUID token() {
                return new UUID(0, attempt);
            }

            @Override
            public int attempt() {
                return attempt;
            }
        });
    }
}
