// SPDX-License-Identifier: Apache-2.0
/**
 * A payments API to try with curl: pay, repeat yourself, and be charged once.
 *
 * <p>{@link org.idemkey.example.PaymentsApi} puts the parts together: the settings of the environment, the database,
 * the payments and their gateway, and HTTP on top. Each part knows only the ones before it.
 */
@NullMarked
package org.idemkey.example;

import org.jspecify.annotations.NullMarked;
