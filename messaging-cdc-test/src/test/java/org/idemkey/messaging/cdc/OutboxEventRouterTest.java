// SPDX-License-Identifier: Apache-2.0
package org.idemkey.messaging.cdc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.debezium.embedded.Connect;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.RecordChangeEvent;
import io.debezium.engine.format.ChangeEventFormat;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.idemkey.messaging.KafkaMessagePublisher;
import org.idemkey.messaging.MessagingRetention;
import org.idemkey.messaging.MessagingSchema;
import org.idemkey.messaging.Outbox;
import org.idemkey.messaging.OutboxEvent;
import org.idemkey.messaging.OutboxRelay;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What {@code docs/cdc.md} says, with the very configuration that stands there. */
class OutboxEventRouterTest {

    private static final Path PAGE = Path.of("..", "docs", "cdc.md");

    /** A message as it would lie in Kafka. */
    record Message(String topic, String key, String value, Map<String, String> headers) {

        /** What {@link KafkaMessagePublisher} makes of the event. */
        static Message of(OutboxEvent event) {
            return new Message(
                    "outbox.event." + event.aggregateType(),
                    event.aggregateId(),
                    event.payload(),
                    Map.of(
                            KafkaMessagePublisher.ID_HEADER,
                            event.id().toString(),
                            KafkaMessagePublisher.TYPE_HEADER,
                            event.eventType()));
        }
    }

    private final List<Message> messages = new CopyOnWriteArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<AutoCloseable> open = new ArrayList<>();
    private final CompletableFuture<String> ended = new CompletableFuture<>();
    private EmbeddedPostgres server;
    private HikariDataSource pool;

    @BeforeEach
    void start() throws Exception {
        // Always one of our own: a server that DATABASE_URL names seldom decodes logically.
        server = EmbeddedPostgres.builder()
                .setServerConfig("wal_level", "logical")
                .start();
        open.add(server);
        pool = new HikariDataSource();
        pool.setJdbcUrl("jdbc:postgresql://localhost:" + server.getPort() + "/postgres");
        pool.setUsername("postgres");
        pool.setPassword("postgres");
        open.add(pool);
        MessagingSchema.create(pool);
        execute(block("sql"));
    }

    @AfterEach
    void close() throws Exception {
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
        threads.shutdown();
        assertThat(threads.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
    }

    @Test
    void eventsArriveAsTheRelayWouldSendThemAndInTheOrderOfTheirCommits() throws Exception {
        startConnector();
        OutboxEvent paid = OutboxEvent.of("payment", "p-ü-1", "Paid", "{\"text\": \"ü\\\"𝄞\", \"amount\": 1250}");
        OutboxEvent refunded = OutboxEvent.of("payment", "p-ü-1", "Refunded", "[1, null, {\"a\": 1.10}]");
        OutboxEvent shipped = OutboxEvent.of("order", "o-1", "Shipped", "{}");

        try (Connection connection = begin()) {
            Outbox.append(connection, OutboxEvent.of("payment", "p-0", "RolledBack", "{}"));
            connection.rollback();
            Outbox.append(connection, paid);
            connection.commit();
            Outbox.append(connection, List.of(refunded, shipped));
            connection.commit();
        }

        awaitMessages(3);
        assertThat(messages).containsExactly(Message.of(paid), Message.of(refunded), Message.of(shipped));
    }

    @Test
    void whatBecomesOfARowLaterIsNoEventAndARelayFindsNothing() throws Exception {
        startConnector();
        OutboxEvent first = OutboxEvent.of("payment", "p-1", "Paid", "{}");
        append(first);
        awaitMessages(1);

        List<OutboxEvent> relayed = new CopyOnWriteArrayList<>();
        try (OutboxRelay relay = OutboxRelay.builder(pool, event -> {
                    relayed.add(event);
                    return CompletableFuture.completedFuture(null);
                })
                .start()) {
            relay.wake();
            execute("UPDATE outbox SET published_at = now() - interval '1 hour'");
            assertThat(MessagingRetention.publishedEvents(pool, Duration.ofMinutes(1))
                            .purgeExpired(100))
                    .isEqualTo(1);
            OutboxEvent second = OutboxEvent.of("payment", "p-1", "Refunded", "{}");
            append(second);
            awaitMessages(2);

            assertThat(messages).containsExactly(Message.of(first), Message.of(second));
        }
        assertThat(relayed).isEmpty();
    }

    private void startConnector() throws Exception {
        Properties config = new Properties();
        config.load(new StringReader(block("properties")));
        assertThat(config).as("read from %s", PAGE).containsKeys("connector.class", "transforms.outbox.type");
        config.setProperty("database.hostname", "localhost");
        config.setProperty("database.port", String.valueOf(server.getPort()));
        config.setProperty("database.user", "postgres");
        config.setProperty("database.password", "postgres");
        config.setProperty("database.dbname", "postgres");
        // What a Connect cluster would bring.
        config.setProperty("name", "outbox");
        config.setProperty("offset.storage", "org.apache.kafka.connect.storage.MemoryOffsetBackingStore");
        config.setProperty("offset.flush.interval.ms", "1000");
        Converter keys = converter(config, "key.converter", true);
        Converter values = converter(config, "value.converter", false);
        HeaderConverter headers = create(config, "header.converter", HeaderConverter.class);

        DebeziumEngine<RecordChangeEvent<SourceRecord>> engine = DebeziumEngine.create(
                        ChangeEventFormat.of(Connect.class))
                .using(config)
                .using((success, message, error) -> ended.complete(message + " " + error))
                .notifying(event -> messages.add(read(event.record(), keys, values, headers)))
                .build();
        open.add(engine);
        threads.execute(engine);
        await().atMost(Duration.ofMinutes(2)).until(() -> {
            assertThat(ended).isNotDone();
            return isStreaming();
        });
    }

    private boolean isStreaming() throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT count(*) FROM pg_replication_slots WHERE active")) {
            rows.next();
            return rows.getInt(1) == 1;
        }
    }

    private void awaitMessages(int count) {
        await().atMost(Duration.ofMinutes(1)).until(() -> {
            assertThat(ended).isNotDone();
            return messages.size() >= count;
        });
    }

    /** What Connect's producer would send. */
    private static Message read(SourceRecord record, Converter keys, Converter values, HeaderConverter headers) {
        Map<String, String> texts = StreamSupport.stream(record.headers().spliterator(), false)
                .collect(Collectors.toMap(
                        Header::key,
                        header -> text(headers.fromConnectHeader(
                                record.topic(), header.key(), header.schema(), header.value()))));
        return new Message(
                record.topic(),
                text(keys.fromConnectData(record.topic(), record.keySchema(), record.key())),
                text(values.fromConnectData(record.topic(), record.valueSchema(), record.value())),
                texts);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static Converter converter(Properties config, String name, boolean forKeys) throws Exception {
        Converter converter = create(config, name, Converter.class);
        converter.configure(Map.of(), forKeys);
        return converter;
    }

    /** The engine has no use for converters when it hands out records, so they are taken out of its configuration. */
    private static <T> T create(Properties config, String name, Class<T> type) throws Exception {
        String className = (String) config.remove(name);
        return type.cast(Class.forName(className).getDeclaredConstructor().newInstance());
    }

    /** The page's first fenced block of a language. */
    private static String block(String language) throws IOException {
        Matcher matcher =
                Pattern.compile("```" + language + "\n(.*?)```", Pattern.DOTALL).matcher(Files.readString(PAGE));
        assertThat(matcher.find()).as("a block of %s in %s", language, PAGE).isTrue();
        return matcher.group(1);
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private void append(OutboxEvent event) throws SQLException {
        try (Connection connection = begin()) {
            Outbox.append(connection, event);
            connection.commit();
        }
    }

    private Connection begin() throws SQLException {
        Connection connection = pool.getConnection();
        connection.setAutoCommit(false);
        return connection;
    }
}
