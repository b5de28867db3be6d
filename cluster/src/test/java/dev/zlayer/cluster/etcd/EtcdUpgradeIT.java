package dev.zlayer.cluster.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.LaterEtcd;
import dev.zlayer.testkit.Requires;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The members of a cluster are replaced by a later version while it is used. */
@Requires(
    value = Fact.LATER_ETCD,
    programs = {"etcd", "flock", "setsid"})
class EtcdUpgradeIT {
  private static final EtcdConfig.Login ROOT = new EtcdConfig.Login(EtcdUsers.ROOT, "of-root");
  private static final EtcdConfig.Login NODE = new EtcdConfig.Login("node", "of-node");
  private static final Duration LIMIT = Duration.ofSeconds(90);

  /** As nodes have them. */
  private static final Duration LEASE = Duration.ofSeconds(5);

  @TempDir Path directory;
  private final Set<String> acknowledged = new ConcurrentSkipListSet<>();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private final AtomicBoolean over = new AtomicBoolean();

  @Test
  void oneMemberAfterTheOtherIsUpgradedAndNothingIsLost() throws Exception {
    Authority authority = Authority.create("test", Instant.now());
    var members = new ArrayList<TestMember>();
    try {
      members.add(TestMember.first(directory.resolve("one"), authority));
      members.add(TestMember.join(directory, authority, "two", members));
      members.add(TestMember.join(directory, authority, "three", members));
      try (EtcdClient admin = client(members, ROOT);
          EtcdClient client = client(members, NODE)) {
        var users = new EtcdUsers(admin);
        users.begin(ROOT, limit());
        users.role("node", List.of(new EtcdUsers.Permission("w/", true, true)), limit());
        users.user(NODE, List.of("node"), limit());
        var store = new EtcdStore(client);
        // before the first one ends: that a lease was made may stay unknown, too
        long lease = store.grant(LEASE, limit());
        Thread writing = Thread.startVirtualThread(() -> write(store, lease));

        for (TestMember member : members) {
          int written = acknowledged.size();
          member.upgrade(LaterEtcd.path());
          await(() -> version(member).startsWith("3.5."));
          await(() -> acknowledged.size() > written + 20);
        }
        over.set(true);
        writing.join();

        assertThat(failure.get()).isNull();
        for (TestMember member : members) {
          assertThat(version(member)).startsWith("3.5.");
        }
        assertThat(stored(new EtcdStore(client))).containsAll(acknowledged);
        // what was there before holds with the new version
        users.removeUser("node", limit());
        assertThat(users.users(limit())).containsExactly(EtcdUsers.ROOT);
      }
    } finally {
      over.set(true);
      for (TestMember member : members) {
        member.close();
      }
    }
  }

  /** As a node does it: under a lease that it renews, and that must not end meanwhile. */
  private void write(ClusterStore store, long lease) {
    try {
      for (int i = 0; !over.get(); i++) {
        String key = "w/%06d".formatted(i);
        try {
          var _ = store.put(key, "1", Deadline.after(Duration.ofSeconds(4)));
          acknowledged.add(key);
        } catch (AgentException.Network | AgentException.Timeout _) {
          // whether it was made is not known, so nothing is expected
        }
        if (!store.keepAlive(lease, Deadline.after(Duration.ofSeconds(4)))) {
          throw new IllegalStateException("the lease ended");
        }
      }
    } catch (Throwable e) {
      failure.set(e);
    }
  }

  private static Set<String> stored(ClusterStore store) throws InterruptedException {
    return store.list("w/", limit()).entries().stream().map(Entry::key).collect(Collectors.toSet());
  }

  private interface Condition {
    boolean holds() throws InterruptedException;
  }

  private void await(Condition condition) throws InterruptedException {
    Deadline limit = limit();
    while (!condition.holds()) {
      assertThat(failure.get()).isNull();
      limit.check("waiting for members");
      Pauses.REAL.pause(Duration.ofMillis(100));
    }
  }

  /** Of the program that runs; empty while none answers. */
  private static String version(TestMember member) throws InterruptedException {
    try (EtcdClient client = member.client()) {
      return new EtcdMembers(client).status(Deadline.after(Duration.ofSeconds(5))).version();
    } catch (AgentException.Network _) {
      return "";
    }
  }

  private static EtcdClient client(List<TestMember> members, EtcdConfig.Login user) {
    List<URI> endpoints = members.stream().map(member -> member.client).toList();
    return EtcdClient.open(
        new EtcdConfig(endpoints, Optional.of(members.getFirst().tls), Optional.of(user)));
  }

  private static Deadline limit() {
    return Deadline.after(LIMIT);
  }
}
