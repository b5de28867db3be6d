package dev.zlayer.cluster.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Event;
import dev.zlayer.cluster.store.ClusterStore.News;
import dev.zlayer.cluster.store.ClusterStoreContract;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The contract on a real member with mutual TLS, and what only real members can show. */
@Requires(programs = {"etcd", "etcdctl", "flock", "setsid"})
class EtcdStoreIT extends ClusterStoreContract {
  private static final int STOP = 19;
  private static final int CONT = 18;

  @TempDir static Path directory;
  private static Authority authority = Authority.create("test", Instant.now());
  private static TestMember member;
  private static EtcdClient client;
  private static ClusterStore store;

  @BeforeAll
  static void start() throws Exception {
    member = TestMember.first(directory.resolve("one"), authority);
    client = member.client();
    store = new EtcdStore(client);
    store.put("ready", "yes", soon());
  }

  @AfterAll
  static void stop() throws Exception {
    store.close();
    member.close();
    assertThat(member.server().running()).isFalse();
  }

  @Override
  protected ClusterStore store() {
    return store;
  }

  /** A busy disk may take as long for a change as the shortest lease lasts. */
  @Override
  protected Duration lease() {
    return Duration.ofSeconds(5);
  }

  /** Its supervisor starts it again, and a watch continues after the last change it saw. */
  @Test
  void aKilledMemberIsStartedAgainAndAWatchMissesNothing() throws Exception {
    long from = store.put("watched/a", "1", soon());
    try (var watch = store.watch("watched/", from)) {
      assertThat(values(watch.next(Duration.ofSeconds(10)))).containsExactly("1");
      ProcessIdentity killed = member.server().process().orElseThrow();
      assertThat(killed.signal(Signal.KILL.number())).isTrue();
      Deadline limit = soon();
      while (!written("watched/a", "2")) {
        limit.check("waiting for the member");
      }
      store.put("watched/a", "3", soon());

      var seen = new ArrayList<String>();
      while (!seen.contains("3")) {
        seen.addAll(values(watch.next(Duration.ofSeconds(2))));
        limit.check("waiting for changes");
      }
      assertThat(seen.stream().distinct()).containsExactly("2", "3");
      assertThat(member.server().process()).isPresent().get().isNotEqualTo(killed);
    }
  }

  /** A change may have been made although its answer was lost, so that it is not repeated. */
  private static boolean written(String key, String value) throws InterruptedException {
    try {
      store.put(key, value, Deadline.after(Duration.ofSeconds(2)));
      return true;
    } catch (AgentException.Network | AgentException.Timeout _) {
      return store.find(key, soon()).filter(entry -> entry.value().equals(value)).isPresent();
    }
  }

  @Test
  void aClientWithoutACertificateOfTheClusterIsRefused() throws Exception {
    Authority other = Authority.create("test", Instant.now());
    Path files = directory.resolve("stranger");
    TestMember stranger = TestMember.first(files, other);
    stranger.close();
    var config =
        new EtcdConfig(List.of(member.client), Optional.of(stranger.tls), Optional.empty());
    try (var stranded = new EtcdStore(EtcdClient.open(config))) {
      assertThatThrownBy(() -> stranded.find("ready", Deadline.after(Duration.ofSeconds(3))))
          .isInstanceOf(AgentException.Network.class)
          .hasMessageContaining("no member of etcd answers");
    }
  }

  @Test
  void aCallEndsByItsDeadlineWhenNobodyAnswers() throws Exception {
    var config =
        new EtcdConfig(
            List.of(TestMember.address(), TestMember.address()),
            Optional.of(member.tls),
            Optional.empty());
    try (var nowhere = new EtcdStore(EtcdClient.open(config))) {
      Deadline most = Deadline.after(Duration.ofSeconds(10));
      assertThatThrownBy(() -> nowhere.put("a", "b", Deadline.after(Duration.ofMillis(500))))
          .as("the time may end before or while a member is asked")
          .isInstanceOfAny(AgentException.Network.class, AgentException.Timeout.class);
      assertThat(most.passed()).isFalse();
    }
  }

  /** A member that is stopped in the middle of a call: whether it was done is not known. */
  @Test
  void aChangeWithoutAnAnswerIsNotRepeated() throws Exception {
    ProcessIdentity process = member.server().process().orElseThrow();
    assertThat(process.signal(STOP)).isTrue();
    try {
      // one of its threads may answer before the signal has reached it
      Awaitility.await().until(() -> stopped(process));
      assertThatThrownBy(() -> store.put("slow", "1", Deadline.after(Duration.ofSeconds(1))))
          .isInstanceOf(AgentException.Timeout.class);
    } finally {
      assertThat(process.signal(CONT)).isTrue();
    }
    store.put("slow", "2", soon());
    assertThat(store.find("slow", soon()).orElseThrow().value()).isEqualTo("2");
  }

  private static boolean stopped(ProcessIdentity process) throws IOException {
    try (var threads = Files.list(Path.of("/proc", Long.toString(process.pid()), "task"))) {
      for (Path thread : threads.toList()) {
        if (!Files.readString(thread.resolve("stat")).contains(") T ")) {
          return false;
        }
      }
      return true;
    }
  }

  @Test
  void membersJoinAsLearnersAndTheOthersContinueWithoutOne() throws Exception {
    TestMember first = TestMember.first(directory.resolve("first"), authority);
    var started = new ArrayList<>(List.of(first));
    try {
      for (String name : List.of("two", "three")) {
        started.add(TestMember.join(directory, authority, name, started));
      }
      List<URI> endpoints = started.stream().map(one -> one.client).toList();
      var config = new EtcdConfig(endpoints, Optional.of(member.tls), Optional.empty());
      try (var all = EtcdClient.open(config);
          var together = new EtcdStore(all)) {
        var members = new EtcdMembers(all);
        assertThat(members.list(soon()))
            .hasSize(3)
            .allSatisfy(one -> assertThat(one.learner()).isFalse());
        together.put("before", "1", soon());

        started.removeFirst().close();

        assertThat(together.find("before", soon())).isPresent();
        Deadline limit = soon();
        while (!applied(together)) {
          limit.check("waiting for another leader");
        }
      }
    } finally {
      for (TestMember one : started) {
        one.close();
      }
    }
  }

  private static boolean applied(ClusterStore together) throws InterruptedException {
    try {
      together.transact(List.of(), List.of(new Change.Put("after", "1")), soon());
      return true;
    } catch (AgentException.Network _) {
      return false;
    }
  }

  @Test
  void aSnapshotIsOneThatEtcdctlReads() throws Exception {
    Path file = directory.resolve("snapshot.db");
    try (var out = Files.newOutputStream(file)) {
      new EtcdMembers(client).snapshot(out, soon());
    }

    var result =
        Processes.run(
            Command.of("etcdctl", "snapshot", "status", file.toString())
                .withEnv(Map.of("ETCDCTL_API", "3")),
            soon());
    assertThat(result.success()).as(result.stderr()).isTrue();
  }

  @Test
  void spaceThatIsFreeIsGivenBack() throws Exception {
    var members = new EtcdMembers(client);
    for (int i = 0; i < 8; i++) {
      store.put("large", Integer.toString(i).repeat(500_000), soon());
    }
    long revision =
        store.transact(List.of(), List.of(new Change.Delete("large")), soon()).revision();
    store.compact(revision, soon());
    long before = members.status(soon()).size();

    // the member frees what was compacted in the background
    Awaitility.await()
        .untilAsserted(
            () -> {
              members.defragment(soon());
              assertThat(members.status(soon()).size()).isLessThan(before);
            });
  }

  /** On a member of its own: users are for all clients of a member. */
  @Test
  void aUserSeesOnlyWhatItsRoleAllows() throws Exception {
    try (TestMember closed = TestMember.first(directory.resolve("users"), authority);
        EtcdClient open = closed.client()) {
      admit(open, "root", "root", "", "");
      admit(open, "node", "node", "nodes/a/", "nodes/a0");
      Json _ = open.ask("/v3/auth/enable", Json.object().build(), EtcdClient.Kind.WRITE, soon());

      try (var node = login(closed, "node");
          var root = login(closed, "root")) {
        node.put("nodes/a/x", "1", soon());
        assertThat(root.find("nodes/a/x", soon())).isPresent();
        assertThatThrownBy(() -> node.find("nodes/b/x", soon()))
            .hasMessageContaining("permission denied");
        assertThatThrownBy(() -> new EtcdStore(open).find("nodes/a/x", soon()))
            .hasMessageContaining("etcd refused");
      }
    }
  }

  /** Its member forgets all tokens, and the user is made and removed while it is used. */
  @Test
  void aClientLogsInAnewWhenItsTokenIsNotKnown() throws Exception {
    var root = new EtcdConfig.Login(EtcdUsers.ROOT, "root-password");
    var node = new EtcdConfig.Login("node", "node-password");
    try (TestMember closed = TestMember.first(directory.resolve("tokens"), authority);
        EtcdClient first = closed.client(root);
        EtcdClient second = closed.client(node)) {
      var users = new EtcdUsers(first);
      for (int i = 0; i < 2; i++) {
        users.begin(root, soon());
        users.role("node", List.of(new EtcdUsers.Permission("nodes/a/", true, true)), soon());
        users.user(node, List.of("node"), soon());
      }
      var own = new EtcdStore(second);
      own.put("nodes/a/x", "1", soon());
      assertThatThrownBy(() -> own.put("nodes/b/x", "1", soon()))
          .hasMessageContaining("permission denied");
      assertThatThrownBy(() -> own.list("nodes/", soon()))
          .hasMessageContaining("permission denied");
      try (var watch = own.watch("nodes/a/", 1)) {
        assertThat(watch.next(Duration.ofSeconds(5))).matches(news -> values(news).contains("1"));

        closed.restart();

        own.put("nodes/a/x", "2", soon());
        Awaitility.await().until(() -> values(watch.next(Duration.ofSeconds(1))).contains("2"));
      }
      assertThat(users.users(soon())).containsExactlyInAnyOrder("node", "root");
      users.removeUser("node", soon());
      users.removeUser("node", soon());
      assertThatThrownBy(() -> own.find("nodes/a/x", soon()))
          .hasMessageContaining("authentication failed");
      users.removeRole("node", soon());
      users.removeRole("node", soon());
      assertThat(new EtcdStore(first).find("nodes/a/x", soon())).isPresent();
    }
  }

  /** Roles change while others ask: nobody notices, and nothing is done twice. */
  @Test
  void usersChangeWhileOthersAsk() throws Exception {
    var root = new EtcdConfig.Login(EtcdUsers.ROOT, "root-password");
    try (TestMember closed = TestMember.first(directory.resolve("changing"), authority);
        EtcdClient first = closed.client(root);
        EtcdClient second = closed.client(root)) {
      var users = new EtcdUsers(first);
      users.begin(root, soon());
      var store = new EtcdStore(second);
      var failures = new ConcurrentLinkedQueue<Throwable>();
      var ended = new AtomicBoolean();
      Thread asking =
          Thread.startVirtualThread(
              () -> {
                try {
                  for (int i = 0; !ended.get(); i++) {
                    store.put("key", Integer.toString(i), soon());
                    assertThat(store.find("key", soon()).orElseThrow().value())
                        .isEqualTo(Integer.toString(i));
                  }
                } catch (Throwable e) {
                  failures.add(e);
                }
              });
      for (int i = 0; i < 40; i++) {
        users.user(new EtcdConfig.Login("u" + i, "p"), List.of(), soon());
        users.removeUser("u" + i, soon());
      }
      ended.set(true);
      asking.join();

      assertThat(failures).isEmpty();
    }
  }

  private static EtcdStore login(TestMember member, String user) {
    return new EtcdStore(
        EtcdClient.open(
            new EtcdConfig(
                List.of(member.client),
                Optional.of(member.tls),
                Optional.of(new EtcdConfig.Login(user, user + "-password")))));
  }

  private static void admit(EtcdClient open, String user, String role, String from, String to)
      throws InterruptedException {
    ask(open, "user/add", Json.object().put("name", user).put("password", user + "-password"));
    ask(open, "role/add", Json.object().put("name", role));
    if (!from.isEmpty()) {
      ask(
          open,
          "role/grant",
          Json.object()
              .put("name", role)
              .put(
                  "perm",
                  Json.object()
                      .put("permType", "READWRITE")
                      .put("key", EtcdStore.encode(from))
                      .put("range_end", EtcdStore.encode(to))
                      .build()));
    }
    ask(open, "user/grant", Json.object().put("user", user).put("role", role));
  }

  private static void ask(EtcdClient open, String path, Json.Builder body)
      throws InterruptedException {
    Json _ = open.ask("/v3/auth/" + path, body.build(), EtcdClient.Kind.WRITE, soon());
  }

  private static List<String> values(News news) {
    return ((News.Events) news)
        .events().stream()
            .map(event -> event instanceof Event.Set(var entry) ? entry.value() : "removed")
            .toList();
  }
}
