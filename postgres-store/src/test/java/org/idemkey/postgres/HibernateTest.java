// SPDX-License-Identifier: Apache-2.0
package org.idemkey.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.idemkey.postgres.Calls.answer;

import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.PersistenceException;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.cfg.Configuration;
import org.idemkey.IdempotencyKey;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Hibernate's sessions within the request's transaction, unchanged. */
class HibernateTest {

    @RegisterExtension
    static final TestDatabase DATABASE = new TestDatabase();

    /** Held, so that its level is: Hibernate tells much of what goes on, and logs what is thrown anyway. */
    private static final Logger LOG = Logger.getLogger("org.hibernate");

    private static PostgresTransactionStore store;
    private static SessionFactory sessions;

    private final IdempotencyKey key = Calls.newKey();
    private final Calls calls = new Calls(store);

    @BeforeAll
    static void create() {
        LOG.setLevel(Level.OFF);
        DATABASE.update("CREATE TABLE effect (id bigint GENERATED ALWAYS AS IDENTITY, name text UNIQUE)");
        store = PostgresTransactionStore.create(DATABASE.pool());
        Configuration configuration = new Configuration().addAnnotatedClass(Effect.class);
        configuration.getProperties().put(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, store.dataSource());
        sessions = configuration.buildSessionFactory();
    }

    @AfterAll
    static void close() {
        sessions.close();
    }

    @BeforeEach
    void empty() {
        DATABASE.update("DELETE FROM effect");
    }

    /** An entity whose insert returns a generated key. */
    @Entity(name = "effect")
    static class Effect {

        @Id
        @GeneratedValue(strategy = GenerationType.IDENTITY)
        Long id;

        String name;

        Effect() {}

        Effect(String name) {
            this.name = name;
        }
    }

    private static String effects() {
        return (String) DATABASE.query("SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM effect");
    }

    @Test
    void effectAndKeyCommitTogether() throws Exception {
        calls.serve(key, context -> {
            sessions.inTransaction(session -> session.persist(new Effect("a")));
            sessions.inTransaction(session -> {
                Effect effect = session.createSelectionQuery("from effect", Effect.class)
                        .getSingleResult();
                effect.name = "b";
            });
            assertThat(effects()).isEmpty();
            return answer(201);
        });

        assertThat(effects()).isEqualTo("b");
        assertThat(calls.serve(key, context -> answer(500))).isEqualTo(answer(201));
    }

    @Test
    void aRollbackWithA402KeepsThe402AndNotTheEffect() throws Exception {
        calls.serve(key, context -> {
            try (Session session = sessions.openSession()) {
                session.beginTransaction();
                session.persist(new Effect("a"));
                session.flush();
                session.getTransaction().rollback();
            }
            return answer(402);
        });

        assertThat(effects()).isEmpty();
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(402));
    }

    @Test
    void aViolatedConstraintWithA409KeepsThe409AndWhatWasCommitted() throws Exception {
        calls.serve(key, context -> {
            sessions.inTransaction(session -> session.persist(new Effect("a")));
            assertThatExceptionOfType(PersistenceException.class)
                    .isThrownBy(() -> sessions.inTransaction(session -> {
                        session.persist(new Effect("b"));
                        session.persist(new Effect("a"));
                    }));
            return answer(409);
        });

        assertThat(effects()).isEqualTo("a");
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(409));
    }

    @Test
    void anExceptionLeavesNothing() throws Exception {
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> calls.serve(key, context -> {
                    sessions.inTransaction(session -> session.persist(new Effect("a")));
                    throw new IllegalStateException("after the commit");
                }));

        assertThat(effects()).isEmpty();
        assertThat(calls.serve(key, context -> answer(201))).isEqualTo(answer(201));
    }
}
