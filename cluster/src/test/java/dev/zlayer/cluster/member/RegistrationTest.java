package dev.zlayer.cluster.member;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.zlayer.cluster.etcd.EtcdClient;
import dev.zlayer.cluster.etcd.EtcdConfig;
import dev.zlayer.cluster.etcd.EtcdMembers;
import dev.zlayer.cluster.etcd.EtcdServer;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.MemoryClusterStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RegistrationTest {
  private static final String ID = "a1";

  private final MemoryClusterStore store = new MemoryClusterStore();
  private final AtomicLong lease = new AtomicLong();
  @TempDir Path directory;
  private final List<Runnable> closing = new ArrayList<>();
  private List<String> members = List.of();
  private List<String> endpoints = List.of();
  private boolean loses = true;
  private Optional<Runnable> late = Optional.empty();

  /** Under the first lease, which is not renewed, the node would be lost for ever. */
  @Test
  void aRegistrationThatIsMadeLateDoesNotReplaceALaterOne() throws Exception {
    var record = new NodeRecord(ID, "one", "192.0.2.1", true, Instant.EPOCH, Map.of());
    var member = new Change.Put(StoreKeys.member(ID), record.text());
    var _ = store.transact(List.of(), List.of(member), limit());
    Registration registration = registration();
    var _ = registration.round();
    assertThat(late).isPresent();
    assertThat(lease).hasValue(0);
    var _ = registration.round();
    assertThat(registration.problem()).isEmpty();
    assertThat(lease.get()).isPositive();

    late.get().run();

    assertThat(store.find(StoreKeys.alive(ID), limit()).orElseThrow().lease())
        .isEqualTo(lease.get());
    var _ = registration.round();
    assertThat(registration.problem()).isEmpty();
  }

  /**
   * The node was admitted by another one, which is the only member that it knows. Were it lost
   * then, nothing would be heard from this one any more.
   */
  @Test
  void aNodeKnowsItsOwnMemberWhenItCounts() throws Exception {
    loses = false;
    var record = new NodeRecord(ID, "one", "192.0.2.1", true, Instant.EPOCH, Map.of());
    var _ =
        store.transact(
            List.of(), List.of(new Change.Put(StoreKeys.member(ID), record.text())), limit());
    var own = "{\"ID\":\"1\",\"peerURLs\":[\"https://192.0.2.1:2380\"],\"isLearner\":true}";
    var other =
        "{\"ID\":\"2\",\"name\":\"two\",\"peerURLs\":[\"https://192.0.2.2:2380\"],"
            + "\"clientURLs\":[\"https://192.0.2.2:2379\"]%s}";
    members = List.of(own, other.formatted(""));
    Registration registration = registration(Optional.of(gateway()));

    var _ = registration.round();
    assertThat(endpoints).containsExactlyInAnyOrder("192.0.2.1", "192.0.2.2");

    members = List.of(own.replace("true", "false"), other.formatted(",\"isLearner\":true"));
    registration.lookAgain();
    var _ = registration.round();
    assertThat(endpoints).as("without one that learns").containsExactly("192.0.2.1");

    members = List.of(own.replace("true", "false"), other.formatted(""));
    var _ = registration.round();
    assertThat(endpoints).as("at once").containsExactlyInAnyOrder("192.0.2.1", "192.0.2.2");
  }

  /** What etcd says of its members. */
  private EtcdMembers gateway() throws IOException {
    var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
    var _ =
        server.createContext(
            "/",
            exchange -> {
              byte[] answer =
                  "{\"members\":[%s]}"
                      .formatted(String.join(",", members))
                      .getBytes(StandardCharsets.UTF_8);
              exchange.sendResponseHeaders(200, answer.length);
              exchange.getResponseBody().write(answer);
              exchange.close();
            });
    server.start();
    EtcdClient client =
        EtcdClient.open(
            new EtcdConfig(
                List.of(URI.create("http://127.0.0.1:" + server.getAddress().getPort())),
                Optional.empty(),
                Optional.empty()));
    closing.add(client::close);
    closing.add(() -> server.stop(0));
    return new EtcdMembers(client);
  }

  /** Of a program that ends at once. */
  private EtcdServer process(NodeIdentity identity) {
    Path none = directory.resolve("none");
    return new EtcdServer(
        new EtcdServer.Settings(
            Path.of("/bin/true"),
            directory.resolve("etcd"),
            ID,
            identity.client(),
            identity.peer(),
            new EtcdServer.Tls(none, none, none, none, "none"),
            "c",
            Map.of(),
            true),
        Pauses.REAL);
  }

  @AfterEach
  void close() {
    closing.forEach(Runnable::run);
  }

  private Registration registration() {
    return registration(Optional.empty());
  }

  private Registration registration(Optional<EtcdMembers> etcd) {
    var identity =
        new NodeIdentity(
            NodeIdentity.VERSION, "c", ID, "one", "192.0.2.1", true, List.of(), Map.of(), false);
    return new Registration(
        identity,
        losing(),
        etcd,
        etcd.map(_ -> process(identity)),
        () -> new NodeRecord.Facts(1, 1, List.of(), List.of(), List.of(), "1", List.of()),
        found -> endpoints = found.stream().map(URI::getHost).toList(),
        () -> false,
        lease::set,
        (_, _) -> {},
        Registration.FACTS);
  }

  /** The store, which keeps the first change for later. */
  @SuppressWarnings("unchecked")
  private ClusterStore losing() {
    return (ClusterStore)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {ClusterStore.class},
            (_, method, arguments) -> {
              if (loses && method.getName().equals("transact")) {
                loses = false;
                late =
                    Optional.of(
                        () -> {
                          var _ =
                              store.transact(
                                  (List<Condition>) arguments[0],
                                  (List<Change>) arguments[1],
                                  limit());
                        });
                throw new AgentException.Timeout("a registration", Duration.ofSeconds(4));
              }
              try {
                return method.invoke(store, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private static Deadline limit() {
    return Deadline.after(Duration.ofSeconds(5));
  }
}
