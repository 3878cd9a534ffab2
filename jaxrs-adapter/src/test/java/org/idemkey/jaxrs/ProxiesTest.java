// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.se.SeContainer;
import jakarta.enterprise.inject.se.SeContainerInitializer;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Map;
import org.idemkey.Idempotency;
import org.idemkey.InMemoryIdempotencyStore;
import org.junit.jupiter.api.Test;
import org.springframework.aop.framework.ProxyFactory;

/** A resource as CDI and Spring hand it to a runtime: an object of a class that they have made. */
class ProxiesTest {

    private final ProtectedMethods methods =
            new ProtectedMethods(Idempotency.of(new InMemoryIdempotencyStore()), Map.of());

    public interface Contract {
        @POST
        @Idempotent(maxResponseBytes = 1)
        String ofInterface(String body);
    }

    @ApplicationScoped
    @Idempotent(maxResponseBytes = 3)
    public static class Resource implements Contract {
        @Override
        public String ofInterface(String body) {
            return body;
        }

        @POST
        @Idempotent(maxResponseBytes = 2)
        public String ofMethod(String body) {
            return body;
        }

        @POST
        public String ofClass(String body) {
            return body;
        }

        @GET
        public String safe() {
            return "";
        }
    }

    private int limit(Class<?> type, String name) {
        Method method = Arrays.stream(type.getMethods())
                .filter(candidate -> candidate.getName().equals(name) && !candidate.isBridge())
                .findFirst()
                .orElseThrow();
        ProtectedMethod found = methods.find(type, method);
        return found == null ? -1 : found.engine().maxResponseBytes();
    }

    private void assertWhole(Class<?> proxy) {
        assertThat(proxy).isNotEqualTo(Resource.class);
        assertThat(limit(proxy, "ofInterface")).isEqualTo(1);
        assertThat(limit(proxy, "ofMethod")).isEqualTo(2);
        assertThat(limit(proxy, "ofClass")).isEqualTo(3);
        assertThat(limit(proxy, "safe")).isEqualTo(-1);
        methods.check(proxy);
    }

    @Test
    void theClientProxyOfACdiContainerHasWhatItsBeanHas() {
        try (SeContainer container = SeContainerInitializer.newInstance()
                .disableDiscovery()
                .addBeanClasses(Resource.class)
                .initialize()) {
            Resource proxy = container.select(Resource.class).get();
            assertThat(proxy.ofMethod("called")).isEqualTo("called");
            assertWhole(proxy.getClass());
        }
    }

    @Test
    void theClassProxyOfSpringHasWhatItsBeanHas() {
        ProxyFactory factory = new ProxyFactory(new Resource());
        factory.setProxyTargetClass(true);
        assertWhole(factory.getProxy().getClass());
    }

    /** It isn't of the bean's class: only the interfaces are there to be looked at. */
    @Test
    void aProxyOfInterfacesHasWhatStandsOnThese() {
        Object proxy = new ProxyFactory(new Resource()).getProxy();
        assertThat(Proxy.isProxyClass(proxy.getClass())).isTrue();
        assertThat(limit(proxy.getClass(), "ofInterface")).isEqualTo(1);
    }
}
