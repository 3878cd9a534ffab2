// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import jakarta.ws.rs.container.DynamicFeature;
import jakarta.ws.rs.container.ResourceInfo;
import jakarta.ws.rs.core.FeatureContext;

/** Looks at each resource method when the application starts, so that wrong use fails there and not at a request. */
final class StartCheck implements DynamicFeature {

    private final ProtectedMethods methods;

    StartCheck(ProtectedMethods methods) {
        this.methods = methods;
    }

    @Override
    public void configure(ResourceInfo resource, FeatureContext context) {
        methods.check(resource.getResourceClass());
        methods.find(resource.getResourceClass(), resource.getResourceMethod());
    }
}
