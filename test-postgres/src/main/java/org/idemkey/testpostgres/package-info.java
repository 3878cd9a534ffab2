// SPDX-License-Identifier: Apache-2.0
/** A real PostgreSQL for tests: one server per run, and a database of its own for each test class. */
@NullMarked
package org.idemkey.testpostgres;

import org.jspecify.annotations.NullMarked;
