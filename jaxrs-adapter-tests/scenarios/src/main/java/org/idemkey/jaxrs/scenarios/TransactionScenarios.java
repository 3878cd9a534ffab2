// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.idemkey.jaxrs.scenarios.Client.newKey;

import org.idemkey.jaxrs.scenarios.Client.Answer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is different where the store shares its transaction with the handler. */
abstract class TransactionScenarios extends ResourceScenarios {

    private final ScriptedStore sharing = new ScriptedStore(true);
    private @Nullable Client sharingClient;

    private Client sharingClient() throws Exception {
        Client started = sharingClient;
        if (started == null) {
            started = serve(new BenchApplication(engine(sharing), ledger));
            sharingClient = started;
        }
        return started;
    }

    /** No thread takes a finished request's transaction to its next one. */
    private void assertNoThreadIsTied() throws Exception {
        for (int i = 0; i < 20; i++) {
            var request = sharingClient().request("bench/tied").GET().build();
            assertThat(sharingClient().send(request).text()).isEqualTo("no");
        }
    }

    /** Line 57. */
    @ParameterizedTest
    @ValueSource(ints = {201, 402, 500})
    void theThreadIsTiedToTheTransactionUntilTheAnswerIsWritten(int status) throws Exception {
        String key = newKey();
        assertThat(sharingClient().post("bench/tied/" + status, key).status()).isEqualTo(status);
        assertThat(ledger.noted(key)).isEqualTo("true true");
        assertThat(sharing.tiedWhenEnded).doesNotContain(key);
        assertThat(status < 500 ? sharing.completions : sharing.releases).containsOnlyOnce(key);
        assertNoThreadIsTied();
    }

    /** Line 32. */
    @ParameterizedTest
    @ValueSource(strings = {"unmapped", "error"})
    void anExceptionUndoesEverythingAndFreesTheKey(String what) throws Exception {
        String key = newKey();
        assertThat(sharingClient().post("bench/throw/" + what, key).status()).isEqualTo(500);
        awaitEnd(sharing, key);
        assertThat(sharing.releases).containsOnlyOnce(key);
        assertThat(sharing.tiedWhenEnded).doesNotContain(key);
        assertNoThreadIsTied();
        assertThat(sharingClient().post("bench/throw/" + what, key).isReplay()).isFalse();
        assertThat(ledger.executions(key)).isEqualTo(2);
    }

    @Test
    void aMappedExceptionIsAnAnswerLikeAnyOther() throws Exception {
        String key = newKey();
        Answer first = sharingClient().post("bench/throw/mapped", key);
        assertReplay(first, sharingClient().post("bench/throw/mapped", key));
        assertNoThreadIsTied();
    }

    /** A time-out rolls back what the handler has done by then, so its key is free. */
    @Test
    void aTimeoutUndoesWhatWasDone() throws Exception {
        assumeAsynchronous();
        String key = newKey();
        assertThat(sharingClient().post("async/suspended/timeout", key).status())
                .isEqualTo(503);
        assertThat(sharing.releases).containsOnlyOnce(key);
        assertNoThreadIsTied();
    }

    @Test
    void whatGoesOnElsewhereTakesItsTransactionAlong() throws Exception {
        assumeAsynchronous();
        for (String how : new String[] {"async/suspended/at-once", "async/stage/at-once"}) {
            String key = newKey();
            Answer first = sharingClient().post(how, key);
            assertThat(first.text()).isEqualTo("execution 1");
            assertReplay(first, sharingClient().post(how, key));
        }
        assertNoThreadIsTied();
    }

    /** Line 41: whether it was committed nobody knows, so the answer mustn't say so. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "bench/created",
                "bench/nothing",
                "bench/zipped",
                "bench/stream/1048577",
                "bench/throw/mapped",
                "async/suspended/at-once"
            })
    void anAnswerWhoseCommitIsUncertainIsNotSent(String how) throws Exception {
        assumeAsynchronousFor(how);
        Answer first = sharingClient().post(how, "uncertain-" + newKey());
        assertThat(first.problem()).as(first.toString()).isEqualTo("store-unavailable");
        assertThat(first.status()).isEqualTo(503);
        assertNoThreadIsTied();
    }
}
