package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.secret.SecretId;
import dev.zlayer.cluster.secret.SecretSeal;
import dev.zlayer.cluster.secret.StoredSecrets;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.error.AgentException;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which node has which secrets, from deployments in memory. */
class NodeSecretsTest {
  private static final String WEB =
      """
        web:
          image: {name: web}
          affinity: {pin: id=a}
          env: {DB: "$S:db/user", URL: "http://${S:@web/token}@x"}
          secrets: [shared]
          storage: [{type: s3, bucket: backups, target: /b, credentials: keys, readonly: true}]
          init:
            steps:
              - {id: up, uses: init.wait_http, with: {url: "http://x"}}
        api:
          image: {name: api}
          affinity: {pin: id=b}
          env: {OTHER: "$S:other"}
        report:
          rtype: job
          image: {name: report}
          affinity: {pin: id=c}
          env: {KEY: "$S:key"}
      """;

  private final Simulation cluster = new Simulation();
  private final SecretSeal seal = SecretSeal.of("c1", Authority.keys().getPrivate());
  private final StoredSecrets secrets = new StoredSecrets(cluster.store, InstantSource.system());
  private final Map<String, FakeHolder> holders = new TreeMap<>();
  private final Map<String, NodeSecrets> nodes = new TreeMap<>();

  /** Keeps what it is given. */
  private final class FakeHolder implements NodeSecrets.Holder, NodeSecrets.Opener {
    final String node;
    final Map<String, Map<SecretId, StoredSecrets.Value>> held = new TreeMap<>();
    final Set<String> own = new HashSet<>();
    boolean openersAnswer = true;
    int asked;

    FakeHolder(String node) {
      this.node = node;
    }

    @Override
    public Set<String> deployments() {
      return Set.copyOf(held.keySet());
    }

    @Override
    public Map<SecretId, StoredSecrets.Value> held(String deployment) {
      return held.getOrDefault(deployment, Map.of());
    }

    @Override
    public void hold(String deployment, Map<SecretId, StoredSecrets.Value> values) {
      held.put(deployment, new HashMap<>(values));
    }

    @Override
    public void drop(String deployment) {
      held.remove(deployment);
    }

    @Override
    public boolean own(String deployment) {
      return own.contains(deployment);
    }

    @Override
    public boolean present(String deployment) {
      return cluster.engines.get(node).running.containsKey(deployment);
    }

    @Override
    public List<StoredSecrets.Value> ask(String deployment) throws InterruptedException {
      asked++;
      if (!openersAnswer) {
        throw new AgentException.Network("nobody answers");
      }
      return new SecretGrants(cluster.store, seal, InstantSource.system()).of(node, deployment);
    }

    String value(String path) {
      return held.values().stream()
          .flatMap(all -> all.values().stream())
          .filter(one -> one.id().toString().equals(path))
          .map(StoredSecrets.Value::text)
          .findFirst()
          .orElse("-");
    }
  }

  @BeforeEach
  void threeNodes() throws InterruptedException {
    for (String id : List.of("a", "b", "c")) {
      cluster.node(id);
      var holder = new FakeHolder(id);
      holders.put(id, holder);
      nodes.put(id, new NodeSecrets(cluster.store, cluster::state, id, holder, holder));
    }
    set(SecretId.global("db"), "global db");
    set(SecretId.of("shop", "db"), "own db");
    set(SecretId.of("shop", "web", "token"), "token of web");
    set(SecretId.global("shared"), "for all");
    set(SecretId.of("shop", "keys"), "s3");
    set(SecretId.of("shop", "other"), "of api");
    set(SecretId.of("shop", "key"), "of report");
    set(SecretId.of("blog", "db"), "of another deployment");
    set(SecretId.global("unused"), "unused");
  }

  private void set(SecretId id, String value) throws InterruptedException {
    var _ = secrets.set(id, value.getBytes(StandardCharsets.UTF_8), seal);
  }

  private void settle() throws InterruptedException {
    cluster.converge();
    for (NodeSecrets node : nodes.values()) {
      var _ = node.round();
    }
  }

  private Set<String> names(String node) {
    var names = new HashSet<String>();
    holders.get(node).held.values().forEach(all -> all.keySet().forEach(id -> names.add(id + "")));
    return names;
  }

  @Test
  void aNodeHasWhatItsReplicasUseAndNothingElse() throws InterruptedException {
    cluster.up("shop", WEB);
    settle();
    assertThat(names("a"))
        .containsExactlyInAnyOrder("shop/db", "shop/@web/token", "shared", "shop/keys");
    assertThat(names("b")).containsExactly("shop/other");
    assertThat(names("c")).as("its job has no execution").isEmpty();
    assertThat(holders.get("a").value("shop/db")).isEqualTo("own db");
  }

  @Test
  void nodesAskOnlyForWhatTheyLack() throws InterruptedException {
    cluster.up("shop", WEB);
    settle();
    int before = holders.get("a").asked;
    settle();
    set(SecretId.global("unused"), "changed");
    settle();
    assertThat(holders.get("a").asked).isEqualTo(before);
    set(SecretId.of("shop", "keys"), "rotated");
    settle();
    assertThat(holders.get("a").value("shop/keys")).isEqualTo("rotated");
    assertThat(holders.get("a").asked).isEqualTo(before + 1);
  }

  @Test
  void anExecutionBringsTheSecretsOfItsJob() throws InterruptedException {
    cluster.up("shop", WEB);
    settle();
    assertThat(grants("c")).isEmpty();
    ClusterExecution made =
        cluster.jobs.trigger(
            "shop",
            "report",
            new ClusterExecution.Request(
                "cli",
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Map.of(),
                Optional.empty(),
                0,
                Optional.empty()));
    cluster.converge();
    ClusterState state = cluster.state();
    assertThat(state.executions().get(made.key()).node()).contains("c");
    assertThat(nodes.get("c").starts(state, made)).as("before its secrets are here").isFalse();
    settle();
    assertThat(nodes.get("c").starts(state, made)).isTrue();
    assertThat(names("c")).containsExactly("shop/key");
    assertThat(names("b")).containsExactly("shop/other");
  }

  @Test
  void nothingIsAppliedBeforeItsSecretsAreHere() throws InterruptedException {
    holders.get("a").openersAnswer = false;
    cluster.up("shop", WEB);
    settle();
    Desired.File file = cluster.deployments.files("shop").getFirst();
    assertThat(nodes.get("a").applies(cluster.state(), "shop", file)).isFalse();
    assertThat(nodes.get("a").problem().orElseThrow()).contains("'shop'", "nobody answers");
    assertThat(nodes.get("b").applies(cluster.state(), "shop", file)).isTrue();

    holders.get("a").openersAnswer = true;
    settle();
    assertThat(nodes.get("a").applies(cluster.state(), "shop", file)).isTrue();
    assertThat(nodes.get("a").problem()).isEmpty();
  }

  @Test
  void aFileWithoutSecretsDoesNotWait() throws InterruptedException {
    cluster.up("plain", "  web: {image: {name: web}}\n");
    cluster.converge();
    Desired.File file = cluster.deployments.files("plain").getFirst();
    assertThat(nodes.get("a").applies(cluster.state(), "plain", file)).isTrue();
    settle();
    assertThat(holders.get("a").held).isEmpty();
  }

  @Test
  void whatIsRemovedOrLeavesIsForgotten() throws InterruptedException {
    cluster.up("shop", WEB);
    settle();
    secrets.remove(SecretId.of("shop", "db"));
    settle();
    assertThat(names("a")).contains("db").doesNotContain("shop/db");
    assertThat(holders.get("a").value("db")).isEqualTo("global db");

    cluster.deployments.down("shop", false);
    settle();
    settle();
    for (FakeHolder holder : holders.values()) {
      assertThat(holder.held).as(holder.node).isEmpty();
    }
  }

  @Test
  void anUpdateKeepsWhatARollbackNeeds() throws InterruptedException {
    cluster.up("shop", WEB);
    settle();
    cluster.up("shop", WEB.replace("secrets: [shared]", "secrets: []"));
    settle();
    assertThat(names("a")).contains("shared");
    secrets.remove(SecretId.global("shared"));
    settle();
    assertThat(names("a")).doesNotContain("shared");
  }

  @Test
  void aDeploymentOfTheNodeItselfGetsNothing() throws InterruptedException {
    holders.get("a").own.add("shop");
    cluster.up("shop", WEB);
    settle();
    assertThat(holders.get("a").held).isEmpty();
  }

  @Test
  void aNodeIsGivenWhatTheClusterHasDecidedAndNotWhatItAsksFor() throws InterruptedException {
    cluster.up("shop", WEB);
    cluster.converge();
    assertThat(grants("a")).hasSize(4);
    assertThat(grants("c")).isEmpty();
    assertThat(grants("unknown")).isEmpty();
    cluster.store.transact(
        List.of(),
        List.of(new Change.Delete(StoreKeys.assignment("a", "shop"))),
        Simulation.limit());
    assertThat(grants("a")).isEmpty();
  }

  private List<StoredSecrets.Value> grants(String node) throws InterruptedException {
    return new SecretGrants(cluster.store, seal, InstantSource.system()).of(node, "shop");
  }

  @Test
  void everyNodeKnowsWhoMayUseAnEndpoint() throws InterruptedException {
    set(SecretId.of("site", "users"), "me:password");
    cluster.up(
        "site",
        """
          web:
            image: {name: web}
            affinity: {pin: id=a}
            endpoints:
              - {name: http, protocol: https, port: 8443, host: a.example, tls: self_signed, basic_auth: users}
        """);
    settle();
    for (FakeHolder holder : holders.values()) {
      assertThat(holder.value("site/users")).as(holder.node).isEqualTo("me:password");
    }
  }
}
