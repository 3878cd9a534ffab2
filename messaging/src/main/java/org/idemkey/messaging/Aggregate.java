// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging;

/** That within which order is kept. */
record Aggregate(String type, String id) {

    static Aggregate of(OutboxEvent event) {
        return new Aggregate(event.aggregateType(), event.aggregateId());
    }
}
