// SPDX-License-Identifier: Apache-2.0
package org.idemkey.testkafka;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import kafka.Kafka;
import kafka.tools.StorageTool;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A real Kafka: one node, broker and controller in one (KRaft), in a process of its own, so that it can be killed. One
 * for all test classes, from its first use to the end of the JVM.
 */
public final class TestKafka {

    private static final TestKafka SHARED = new TestKafka();

    private final Path directory;
    private final int port;
    private ChildProcess broker;

    private TestKafka() {
        try {
            directory = Files.createTempDirectory("idemkey-kafka");
            port = freePort();
            Files.writeString(
                    directory.resolve("server.properties"), """
                    process.roles=broker,controller
                    node.id=1
                    controller.quorum.voters=1@127.0.0.1:%2$d
                    controller.listener.names=CONTROLLER
                    listeners=PLAINTEXT://127.0.0.1:%1$d,CONTROLLER://127.0.0.1:%2$d
                    log.dirs=%3$s
                    num.partitions=4
                    offsets.topic.num.partitions=1
                    offsets.topic.replication.factor=1
                    group.initial.rebalance.delay.ms=0
                    group.min.session.timeout.ms=500
                    """.formatted(port, freePort(), directory.resolve("logs")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(this::remove));
        start();
    }

    /** The one broker, running. */
    public static TestKafka shared() {
        return SHARED;
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** Where it listens, now and after a restart. */
    public String bootstrapServers() {
        return "127.0.0.1:" + port;
    }

    /** Starts it, with the data that it had, and waits until it answers. */
    public void start() {
        broker = new ChildProcess(
                Broker.class,
                directory.resolve("broker.log"),
                Map.of(),
                directory.resolve("server.properties").toString());
        long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(2);
        try (Admin admin = admin()) {
            while (true) {
                try {
                    admin.describeCluster().nodes().get(1, TimeUnit.SECONDS);
                    return;
                } catch (ExecutionException | TimeoutException e) {
                    if (!broker.isAlive() || System.nanoTime() - deadline > 0) {
                        throw new IllegalStateException("Kafka doesn't start: " + broker.log(), e);
                    }
                }
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** kill -9. */
    public void kill() throws InterruptedException {
        broker.kill();
    }

    /** Creates a topic; one that a client just uses is created too, with four partitions. */
    public void createTopic(String name, int partitions) throws Exception {
        try (Admin admin = admin()) {
            admin.createTopics(List.of(new NewTopic(name, Optional.of(partitions), Optional.empty())))
                    .all()
                    .get(1, TimeUnit.MINUTES);
        }
    }

    private Admin admin() {
        return Admin.create(Map.of("bootstrap.servers", bootstrapServers()));
    }

    /** A consumer that commits nothing by itself and begins at the beginning. */
    public KafkaConsumer<String, String> consumer(Map<String, Object> settings) {
        Map<String, Object> config = new HashMap<>(Map.of(
                "bootstrap.servers", bootstrapServers(),
                "enable.auto.commit", "false",
                "auto.offset.reset", "earliest"));
        config.putAll(settings);
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    private void remove() {
        try {
            broker.kill();
            List<Path> all = new ArrayList<>();
            try (Stream<Path> paths = Files.walk(directory)) {
                paths.sorted(Comparator.reverseOrder()).forEach(all::add);
            }
            for (Path path : all) {
                Files.deleteIfExists(path);
            }
        } catch (IOException | InterruptedException e) {
            // Temporary files may stay.
        }
    }

    /** What runs in the process: formats the storage, unless it is, and starts the server. */
    static final class Broker {

        private static final String CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg";

        private Broker() {}

        public static void main(String[] arguments) {
            ChildProcess.dieWithParent();
            String[] format = {"format", "--ignore-formatted", "-t", CLUSTER, "-c", arguments[0]};
            int code = StorageTool.execute(format, System.out);
            if (code != 0) {
                System.exit(code);
            }
            Kafka.main(arguments);
        }
    }
}
