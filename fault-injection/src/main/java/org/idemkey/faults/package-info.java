// SPDX-License-Identifier: Apache-2.0
/**
 * The fault campaign: two instances of the sample API on one PostgreSQL, clients that repeat themselves, a seeded
 * schedule that kills, stops and cuts whatever it can reach, and an audit of what is left.
 *
 * <p>Nothing here uses Idemkey's own code: the campaign sees what a client, an operator and an auditor see.
 */
@NullMarked
package org.idemkey.faults;

import org.jspecify.annotations.NullMarked;
