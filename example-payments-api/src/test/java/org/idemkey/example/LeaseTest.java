// SPDX-License-Identifier: Apache-2.0
package org.idemkey.example;

class LeaseTest extends RepetitionScenarios {}
