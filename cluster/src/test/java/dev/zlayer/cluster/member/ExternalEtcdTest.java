package dev.zlayer.cluster.member;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.cluster.etcd.EtcdClient;
import dev.zlayer.cluster.etcd.EtcdConfig;
import dev.zlayer.cluster.etcd.EtcdMembers;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.MemoryClusterStore;
import dev.zlayer.cluster.store.PrefixedStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ExternalEtcdTest {
  @Test
  void addressesNeedTlsAndPrefixesCannotLieWithinEachOther() {
    etcd("https://192.0.2.1:2379", "").check();
    etcd("https://[2001:db8::1]:2379/", "/team-a/prod").check();
    for (String address :
        List.of("192.0.2.1:2379", "http://192.0.2.1:2379", "https://u@a:1", "https://a/x", "::")) {
      assertThatThrownBy(() -> etcd(address, "").check())
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining(address);
    }
    for (String prefix : List.of("a", "/", "/a/", "/a//b", "/zlayer", "/a/zlayer-b", "/a b")) {
      assertThatThrownBy(() -> etcd("https://a:1", prefix).check())
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining("not a prefix");
    }
  }

  @Test
  void itsTextHasNoSecrets() {
    var etcd =
        new ExternalEtcd(
            List.of("https://a:1"),
            "",
            Optional.empty(),
            Optional.empty(),
            Optional.of("private"),
            Optional.of("me"),
            Optional.of("hidden"));
    assertThat(etcd.toString()).doesNotContain("private", "hidden");
    assertThatThrownBy(etcd::check).hasMessageContaining("certificate");
  }

  @Test
  void aClusterThatEndsRemovesItsOwnKeysAndNothingElse() throws InterruptedException {
    var shared = new MemoryClusterStore();
    ExternalEtcd external = etcd("https://192.0.2.1:2379", "/team");
    for (String key :
        List.of("/zlayer/members/a", "/team/zlayer-files/shop/1", "/team/zlayerapp/a", "/team/b")) {
      put(shared, key, "x");
    }
    put(shared, "/team" + StoreKeys.CLUSTER, new ClusterSettings("c", false).text());
    put(shared, "/team" + StoreKeys.member("a"), "x");
    try (var client =
        EtcdClient.open(new EtcdConfig(external.uris(), Optional.empty(), Optional.empty()))) {
      var backend =
          new Backend(
              client,
              new PrefixedStore(shared, external.prefix()),
              new EtcdMembers(client),
              Optional.empty(),
              Optional.of(external));
      backend.clear("another");
      assertThat(keys(shared)).hasSize(6);
      backend.clear("c");
    }
    assertThat(keys(shared)).containsExactly("/team/b", "/team/zlayerapp/a", "/zlayer/members/a");
  }

  private static List<String> keys(ClusterStore store) throws InterruptedException {
    return store.list("", limit()).entries().stream().map(ClusterStore.Entry::key).toList();
  }

  private static void put(ClusterStore store, String key, String value)
      throws InterruptedException {
    var _ = store.transact(List.of(), List.of(new ClusterStore.Change.Put(key, value)), limit());
  }

  private static Deadline limit() {
    return Deadline.after(Duration.ofSeconds(5));
  }

  private static ExternalEtcd etcd(String address, String prefix) {
    return new ExternalEtcd(
        List.of(address),
        prefix,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty());
  }
}
