// SPDX-License-Identifier: Apache-2.0
/** A real Kafka for the tests of several modules. Not published. */
@NullMarked
package org.idemkey.testkafka;

import org.jspecify.annotations.NullMarked;
