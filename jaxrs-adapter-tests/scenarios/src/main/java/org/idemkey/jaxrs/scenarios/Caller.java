// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import jakarta.ws.rs.core.SecurityContext;
import java.security.Principal;

/** Somebody whom a filter has authenticated. */
record Caller(String name) implements SecurityContext, Principal {

    @Override
    public Principal getUserPrincipal() {
        return this;
    }

    @Override
    public String getName() {
        return name;
    }

    @Override
    public boolean isUserInRole(String role) {
        return false;
    }

    @Override
    public boolean isSecure() {
        return false;
    }

    @Override
    public String getAuthenticationScheme() {
        return "test";
    }
}
