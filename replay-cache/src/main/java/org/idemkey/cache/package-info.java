// SPDX-License-Identifier: Apache-2.0
/** Answers repetitions from memory, in front of any store. */
@NullMarked
package org.idemkey.cache;

import org.jspecify.annotations.NullMarked;
