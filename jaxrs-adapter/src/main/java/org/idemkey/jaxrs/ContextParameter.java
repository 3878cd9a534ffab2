// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import jakarta.ws.rs.ext.ParamConverter;
import jakarta.ws.rs.ext.ParamConverterProvider;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import org.idemkey.IdempotencyContext;
import org.jspecify.annotations.Nullable;

/** Brings a resource method the context of its claim, as the parameter that {@link Idempotent#CONTEXT} names. */
final class ContextParameter implements ParamConverterProvider {

    private final OpenClaims claims;

    ContextParameter(OpenClaims claims) {
        this.claims = claims;
    }

    @Override
    public <T> @Nullable ParamConverter<T> getConverter(
            Class<T> rawType, @Nullable Type genericType, Annotation @Nullable [] annotations) {
        if (rawType != IdempotencyContext.class) {
            return null;
        }
        return new ParamConverter<>() {
            @Override
            public @Nullable T fromString(@Nullable String token) {
                return rawType.cast(claims.context(token));
            }

            @Override
            public String toString(T context) {
                throw new UnsupportedOperationException("a context doesn't leave its request");
            }
        };
    }
}
