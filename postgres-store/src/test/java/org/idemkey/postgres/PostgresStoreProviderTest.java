// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.util.Hashtable;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.ConcurrentHashMap;
import javax.naming.Context;
import javax.naming.NameNotFoundException;
import javax.naming.spi.InitialContextFactory;
import org.idemkey.Claim;
import org.idemkey.Fingerprint;
import org.idemkey.IdempotencyKey;
import org.idemkey.IdempotencyStore;
import org.idemkey.Scope;
import org.idemkey.Terms;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A store by settings, as a {@code web.xml} has them, from a container's directory of names. */
class PostgresStoreProviderTest {

    private static final Map<String, Object> NAMES = new ConcurrentHashMap<>();

    @RegisterExtension
    static final TestDatabase database = new TestDatabase();

    /** Found by name, through the system property. */
    public static final class Names implements InitialContextFactory {

        @Override
        public Context getInitialContext(Hashtable<?, ?> environment) {
            return (Context) Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[] {Context.class}, (self, method, a) -> {
                        if (!method.getName().equals("lookup")) {
                            return null;
                        }
                        Object found = NAMES.get((String) a[0]);
                        if (found == null) {
                            throw new NameNotFoundException((String) a[0]);
                        }
                        return found;
                    });
        }
    }

    @BeforeEach
    void container() {
        System.setProperty(Context.INITIAL_CONTEXT_FACTORY, Names.class.getName());
        NAMES.clear();
    }

    @AfterEach
    void none() {
        System.clearProperty(Context.INITIAL_CONTEXT_FACTORY);
    }

    private static IdempotencyStore store(Map<String, String> settings) {
        return ServiceLoader.load(IdempotencyStore.Provider.class).stream()
                .map(provider -> provider.get().create(settings::get))
                .filter(store -> store != null)
                .findFirst()
                .orElse(null);
    }

    @Test
    void theDataSourceIsFoundAsTheContainerNamesIt() throws Exception {
        for (String name : new String[] {"java:comp/env/jdbc/payments", "java:global/payments", "payments"}) {
            NAMES.clear();
            NAMES.put(name, database.pool());

            IdempotencyStore store = store(Map.of("dataSource", name.replace("java:comp/env/", "")));

            assertThat(store).as(name).isInstanceOf(PostgresLeaseStore.class);
            IdempotencyKey key = new IdempotencyKey(Scope.ANONYMOUS, name);
            assertThat(store.claim(key, Fingerprint.of("x"), Terms.defaults())).isInstanceOf(Claim.Acquired.class);
            ((AutoCloseable) store).close();
        }
    }

    @Test
    void theTableMayBeNamed() throws Exception {
        PostgresSchema.create(database.pool(), "web_keys");
        NAMES.put("java:comp/env/jdbc/payments", database.pool());

        IdempotencyStore store = store(Map.of("dataSource", "jdbc/payments", "table", "web_keys"));

        store.claim(new IdempotencyKey(Scope.ANONYMOUS, "k"), Fingerprint.of("x"), Terms.defaults());
        ((AutoCloseable) store).close();
        assertThat(database.query("SELECT count(*) FROM web_keys")).isEqualTo(1L);
    }

    @Test
    void theStoreBringsACleanerThatEndsWithIt() throws Exception {
        NAMES.put("java:comp/env/jdbc/payments", database.pool());
        long before = cleaners();

        IdempotencyStore store = store(Map.of("dataSource", "jdbc/payments"));
        assertThat(cleaners()).isEqualTo(before + 1);
        ((AutoCloseable) store).close();

        assertThat(cleaners()).isEqualTo(before);
    }

    private static long cleaners() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("idemkey-cleaner"))
                .count();
    }

    @Test
    void settingsOfOthersAreLeftToOthers() {
        assertThat(store(Map.of("table", "x"))).isNull();
    }

    @Test
    void aWrongSettingIsNamed() {
        NAMES.put("java:comp/env/jdbc/payments", database.pool());
        NAMES.put("java:comp/env/mail", "no data source");

        for (String name : new String[] {"jdbc/missing", "mail", "ldap://elsewhere/x", "rmi:x"}) {
            assertThatThrownBy(() -> store(Map.of("dataSource", name)))
                    .as(name)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("dataSource");
        }
        assertThatThrownBy(() -> store(Map.of("dataSource", "jdbc/payments", "table", "a b")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("table");
    }
}
