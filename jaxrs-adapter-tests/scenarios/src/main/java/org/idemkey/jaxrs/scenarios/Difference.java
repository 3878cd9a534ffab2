// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

/**
 * What a runtime does otherwise than the others, or can't do. A runtime's wiring says so, with its reason; the scenarios
 * then ask for what it does instead, so that nothing is left out in silence.
 */
public enum Difference {

    /** {@code @Suspended}, {@code CompletionStage} and events are answered with 500 by the runtime itself. */
    NOTHING_ASYNCHRONOUS,

    /** {@code SseEventSink} is an extension of the runtime, which is not there: no scenario for it runs. */
    NO_EVENT_SINK,

    /** The client has the 500 of an unmapped exception before the response filters run, so the record follows it. */
    UNMAPPED_ANSWERED_FIRST,

    /** The same, where the exception comes from another thread, by {@code AsyncResponse.resume}. */
    UNMAPPED_ELSEWHERE_ANSWERED_FIRST,

    /** A 205 has neither a length nor chunks, so that a client waits for more until the connection closes. */
    RESET_CONTENT_WITHOUT_LENGTH,

    /** A form that a servlet filter has read is gone: 500, and nothing runs. */
    READ_FORM_IS_LOST
}
