// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.container.AsyncResponse;
import jakarta.ws.rs.container.Suspended;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import org.idemkey.BodyMatching;
import org.idemkey.Idempotency;
import org.idemkey.IdempotencyContext;
import org.idemkey.IdempotencyStore;
import org.idemkey.InMemoryIdempotencyStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where an annotation is found, what it says, and what is refused at start. */
class ProtectedMethodsTest {

    private final ProtectedMethods methods = methods(new InMemoryIdempotencyStore());

    private static ProtectedMethods methods(IdempotencyStore store) {
        Idempotency engine = Idempotency.of(store);
        return new ProtectedMethods(
                engine, Map.of("long", engine.toBuilder().maxResponseBytes(7).build()));
    }

    private ProtectedMethod find(Class<?> type, String name) {
        return methods.find(type, method(type, name));
    }

    private static Method method(Class<?> type, String name) {
        return Arrays.stream(type.getMethods())
                .filter(method -> method.getName().equals(name) && !method.isBridge())
                .findFirst()
                .orElseThrow();
    }

    public static class Own {
        @POST
        @Idempotent(maxResponseBytes = 5)
        public void annotated() {}

        @DELETE
        @Idempotent
        public void deleted() {}

        @POST
        public void plain() {}

        @POST
        @Idempotent(variant = "long")
        public void variant() {}

        @POST
        @Idempotent(variant = "long", maxResponseBytes = 9)
        public void changedVariant() {}
    }

    @Test
    void whatIsSetReplacesWhatTheEngineSays() {
        assertThat(find(Own.class, "annotated").engine().maxResponseBytes()).isEqualTo(5);
        assertThat(find(Own.class, "variant").engine().maxResponseBytes()).isEqualTo(7);
        assertThat(find(Own.class, "changedVariant").engine().maxResponseBytes())
                .isEqualTo(9);
        assertThat(find(Own.class, "plain")).isNull();
    }

    @Test
    void aMethodOfItsOwnAnnotationIsProtectedWhateverItsVerb() {
        assertThat(find(Own.class, "deleted").engine().protects("DELETE")).isTrue();
        assertThat(find(Own.class, "deleted").engine().protects("POST")).isFalse();
    }

    @Idempotent(maxResponseBytes = 1)
    public static class Whole {
        @POST
        public void ofClass() {}

        @POST
        @Idempotent(maxResponseBytes = 2)
        public void own() {}

        @GET
        public void safe() {}

        @DELETE
        public void unprotectedVerb() {}

        @Path("sub")
        public Object locator() {
            return this;
        }
    }

    @Test
    void aClassProtectsWhatTheEngineProtectsAndAMethodOverrulesIt() {
        assertThat(find(Whole.class, "ofClass").engine().maxResponseBytes()).isEqualTo(1);
        assertThat(find(Whole.class, "own").engine().maxResponseBytes()).isEqualTo(2);
        assertThat(find(Whole.class, "safe")).isNull();
        assertThat(find(Whole.class, "unprotectedVerb")).isNull();
        assertThat(find(Whole.class, "locator")).isNull();
        methods.check(Whole.class);
    }

    /** Says all in an interface. */
    public interface Contract<T> {
        @POST
        @Idempotent(maxResponseBytes = 3)
        void generic(T body);

        void unannotated(String body);
    }

    @Idempotent(maxResponseBytes = 4)
    public interface Marker {}

    public static class Implementation extends Whole implements Contract<String>, Marker {
        @Override
        public void generic(String body) {}

        /** Another method than the interface's, though of its name. */
        @POST
        public void generic(Integer body) {}

        @Override
        @POST
        public void unannotated(String body) {}
    }

    public static class Proxy extends Implementation {
        @Override
        public void generic(String body) {}

        @Override
        public void own() {}
    }

    @Test
    void anAnnotationIsInheritedFromMethodsFirstAndThenFromTypesTheNearestFirst() throws Exception {
        for (Class<?> type : new Class<?>[] {Implementation.class, Proxy.class}) {
            Method generic = type.getMethod("generic", String.class);
            assertThat(methods.find(type, generic).engine().maxResponseBytes()).isEqualTo(3);
            Method other = type.getMethod("generic", Integer.class);
            assertThat(methods.find(type, other).engine().maxResponseBytes()).isEqualTo(1);
            assertThat(find(type, "own").engine().maxResponseBytes()).isEqualTo(2);
            assertThat(find(type, "unannotated").engine().maxResponseBytes()).isEqualTo(1);
        }
        // Some runtimes hand over the interface's method, or the superclass's.
        assertThat(methods.find(Proxy.class, Contract.class.getMethods()[0]).engine())
                .isNotNull();
    }

    public static class Wrong {
        @GET
        @Idempotent
        public void onGet() {}

        @POST
        @Idempotent(retention = "1 day")
        public void unparsable() {}

        @POST
        @Idempotent(lease = "-PT1S")
        public void outOfBounds() {}

        @POST
        @Idempotent(variant = "none")
        public void unknownVariant() {}

        @POST
        @Idempotent(bodyMatching = {BodyMatching.RAW, BodyMatching.CANONICAL_JSON})
        public void twoMatchings() {}

        @POST
        @Idempotent(maxRequestBytes = -2)
        public void negative() {}

        @POST
        @Idempotent(fingerprintHeaders = "a b")
        public void noHeader() {}
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"onGet", "unparsable", "outOfBounds", "unknownVariant", "twoMatchings", "negative", "noHeader"})
    void wrongUseIsRefusedWithTheMethodNamed(String name) {
        assertThatThrownBy(() -> find(Wrong.class, name))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(Wrong.class.getName() + "." + name);
    }

    public static class WrongLocator {
        @Path("sub")
        @Idempotent
        public Object locator() {
            return this;
        }
    }

    @Test
    void anAnnotationOnALocatorIsRefused() {
        assertThatThrownBy(() -> methods.check(WrongLocator.class))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(WrongLocator.class.getName() + ".locator");
    }

    public static class Elsewhere {
        @POST
        @Idempotent
        public void suspended(@Suspended AsyncResponse response) {}

        @POST
        @Idempotent
        public CompletionStage<String> stage() {
            throw new UnsupportedOperationException();
        }

        @POST
        @Idempotent
        public void informed(
                @Suspended AsyncResponse response, @HeaderParam(Idempotent.CONTEXT) IdempotencyContext context) {}
    }

    /** Or it would write in a transaction of its own, and nobody would notice. */
    @Test
    void whatGoesOnElsewhereMustTakeItsTransactionWithIt() {
        ProtectedMethods transactional = methods(new TransactionalStore());
        for (String name : new String[] {"suspended", "stage"}) {
            assertThat(find(Elsewhere.class, name).elsewhere()).isTrue();
            assertThatThrownBy(() -> transactional.find(Elsewhere.class, method(Elsewhere.class, name)))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(Elsewhere.class.getName() + "." + name)
                    .hasMessageContaining("Idempotent.CONTEXT");
        }
        ProtectedMethod informed = transactional.find(Elsewhere.class, method(Elsewhere.class, "informed"));
        assertThat(informed.elsewhere()).isTrue();
        assertThat(informed.detached()).isTrue();
        assertThat(find(Elsewhere.class, "stage").detached()).isFalse();
    }
}
