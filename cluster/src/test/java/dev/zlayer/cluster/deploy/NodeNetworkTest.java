package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.network.DesiredOverlay;
import dev.zlayer.cluster.network.DesiredOverlay.Path;
import dev.zlayer.cluster.network.DesiredOverlay.Peer;
import dev.zlayer.cluster.network.NodeSubnet;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.port.Rotation;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class NodeNetworkTest {
  private final Simulation cluster = new Simulation();
  private final Map<String, FakeHost> hosts = new TreeMap<>();
  private final Map<String, NodeNetwork> networks = new TreeMap<>();

  @Test
  void everyNodeGetsASubnetOfItsOwnAndRoutesToTheOthers() throws Exception {
    join("a");
    join("b");
    rounds();

    assertThat(hosts.get("a").subnet).contains(NodeSubnet.parse("10.192.0.0/18"));
    assertThat(hosts.get("b").subnet).contains(NodeSubnet.parse("10.192.64.0/18"));
    assertThat(hosts.get("a").peers)
        .containsExactly(new Peer("192.0.2.1", NodeSubnet.parse("10.192.64.0/18")));
    assertThat(networks.get("a").problem()).isEmpty();

    int before = hosts.get("a").connected;
    rounds();
    assertThat(hosts.get("a").connected).as("nothing changed").isEqualTo(before);
  }

  @Test
  void aNodeThatReadTheSameStateDoesNotGetTheSubnetOfAnother() throws Exception {
    join("a");
    join("b");
    // between what "a" reads and what it writes, "b" takes the first one
    hosts.get("a").whenAsked = () -> round("b");
    round("a");

    assertThat(subnet("b")).contains("10.192.0.0/18");
    assertThat(subnet("a")).as("its condition did not hold").isEmpty();
    round("a");
    assertThat(subnet("a")).contains("10.192.64.0/18");
  }

  @Test
  void aPeerHasTheKeyThatItPublishedItselfAndAnotherKeyOfThisNodeIsUsedAtOnce() throws Exception {
    join("a");
    join("b");
    hosts.get("a").key = Optional.of("signed by a");
    rounds();
    assertThat(hosts.get("a").peers).extracting(Peer::key).containsExactly(Optional.empty());
    assertThat(networks.get("a").problem())
        .hasValueSatisfying(text -> assertThat(text).contains("node-b", "no key of its own"));

    hosts.get("b").key = Optional.of("signed by a");
    rounds();
    assertThat(hosts.get("a").peers).extracting(Peer::key).containsExactly(Optional.empty());
    hosts.get("b").key = Optional.of("signed by b");
    rounds();
    assertThat(hosts.get("a").peers).extracting(Peer::key).containsExactly(Optional.of("b"));
    assertThat(networks.get("a").problem()).isEmpty();

    int before = hosts.get("a").connected;
    hosts.get("a").key = Optional.of("signed by a with another one");
    round("a");
    assertThat(hosts.get("a").connected).isEqualTo(before + 1);
  }

  @Test
  void whatTheHostUsesIsLeftOutAndOverlapsAreReported() throws Exception {
    join("a");
    hosts.get("a").used = List.of(NodeSubnet.parse("10.192.3.0/24"));
    join("b");
    rounds();

    assertThat(subnet("a")).contains("10.192.64.0/18");
    assertThat(subnet("b")).contains("10.192.0.0/18");
    assertThat(networks.get("a").problem())
        .hasValueSatisfying(
            text -> assertThat(text).contains("node-b", "10.192.0.0/18 overlaps 10.192.3.0/24"));
  }

  @Test
  void onlyNetworksOfTheSameDeploymentGetAPath() throws Exception {
    join("a");
    join("b");
    rounds();
    hosts.get("a").networks.put("shop", local("br1", "10.192.1.0/24"));
    hosts.get("a").networks.put("mail", local("br2", "10.192.2.0/24"));
    hosts.get("b").networks.put("shop", local("br7", "10.192.65.0/24"));
    hosts.get("b").networks.put("old", local("br8", "10.89.0.0/24"));
    rounds();

    assertThat(hosts.get("b").paths)
        .containsExactly(new Path("br7", NodeSubnet.parse("10.192.1.0/24")));
    assertThat(hosts.get("a").paths)
        .containsExactly(new Path("br1", NodeSubnet.parse("10.192.65.0/24")));
    assertThat(networks.get("b").problem())
        .hasValueSatisfying(text -> assertThat(text).contains("'old'", "10.89.0.0/24"));

    hosts.get("a").networks.remove("shop");
    rounds();
    assertThat(hosts.get("b").paths).isEmpty();
  }

  @Test
  void aNodeThatIsRemovedIsNoPeerAndTheOneThatIsLostStaysOne() throws Exception {
    join("a");
    join("b");
    rounds();
    cluster.lose("b");
    round("a");
    assertThat(hosts.get("a").peers).as("its containers may run").hasSize(1);

    delete(StoreKeys.member("b"));
    delete(StoreKeys.subnet("b"));
    round("b");
    round("a");
    assertThat(hosts.get("a").peers).isEmpty();
    assertThat(subnet("b")).as("it takes none while it is no member").isEmpty();
  }

  @Test
  void membersOfOtherNodesAreServedUntilTheirNodeIsLost() throws Exception {
    join("a");
    join("b");
    rounds();
    cluster.up(
        "shop",
        """
          web:
            image: {name: "web:1"}
            endpoints: [{name: http, protocol: tcp, port: 80}]
          agent:
            image: {name: "agent:1"}
            network_mode: host
        """);
    report("b", "10.192.65.2");
    rounds();

    var web = new ServiceKey("shop", "web");
    Map<ServiceKey, Rotation.Members> seen = hosts.get("a").members;
    assertThat(seen).as("without the network of the host").containsOnlyKeys(web);
    assertThat(seen.get(web).endpoints()).hasSize(1);
    assertThat(seen.get(web).members())
        .singleElement()
        .satisfies(
            member -> {
              assertThat(member.address()).isEqualTo(InetAddress.ofLiteral("10.192.65.2"));
              assertThat(member.id()).isEqualTo(ContainerId.of("shop", "web", 2).withGeneration(7));
            });
    assertThat(hosts.get("b").members.get(web).members()).as("its own are not told").isEmpty();

    report("b", "10.192.1.9");
    round("a");
    assertThat(hosts.get("a").members.get(web).members()).as("not of its subnet").isEmpty();

    for (String wrong : List.of("nowhere", "", "10.192.65.2/32", "::1")) {
      report("b", wrong);
      round("a");
      assertThat(hosts.get("a").members.get(web).members()).as("no address").isEmpty();
      assertThat(networks.get("a").problem()).as("its own network works").isEmpty();
    }

    report("b", "10.192.65.2");
    cluster.lose("b");
    round("a");
    assertThat(hosts.get("a").members.get(web).members()).isEmpty();
  }

  /** Its engine has not checked its replicas yet. */
  @Test
  void anAgentThatStartsAnewKeepsReportingTheMembersOfTheOneBefore() throws Exception {
    join("a");
    cluster.up("shop", "  web: {image: {name: web}, scale: {mode: manual, replicas: 2}}\n");
    cluster.converge();
    report("a", "10.192.1.2");
    cluster.revive("a");
    cluster.converge();

    assertThat(
            cluster
                .deployments
                .state()
                .reports()
                .get(new ClusterState.Place("a", "shop"))
                .service("web")
                .flatMap(Desired.ServiceReport::members)
                .orElseThrow())
        .singleElement()
        .satisfies(member -> assertThat(member.address()).isEqualTo("10.192.1.2"));
  }

  private void report(String node, String address) {
    var service =
        new Desired.ServiceReport(
            "running",
            List.of(2),
            false,
            Optional.empty(),
            Optional.of(List.of(new Desired.Member("default", 2, 7, address))));
    var report = new Desired.Report(1, Map.of("web", service), Optional.empty());
    var place = new ClusterState.Place(node, "shop");
    var put = new Change.Put(place.report(), report.json(), cluster.leases.get(node));
    var _ = cluster.store.transact(List.of(), List.of(put), Simulation.limit());
  }

  private void join(String id) throws InterruptedException {
    cluster.node(id);
    hosts.put(id, new FakeHost());
    networks.put(id, new NodeNetwork(cluster.store, cluster::state, id, hosts.get(id)));
  }

  private void round(String id) {
    try {
      var _ = networks.get(id).round();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** As many as everything takes. */
  private void rounds() {
    for (int i = 0; i < 4; i++) {
      networks.keySet().forEach(this::round);
    }
  }

  private Optional<String> subnet(String id) throws InterruptedException {
    return cluster.store.find(StoreKeys.subnet(id), Simulation.limit()).map(entry -> entry.value());
  }

  private void delete(String key) {
    var _ = cluster.store.transact(List.of(), List.of(new Change.Delete(key)), Simulation.limit());
  }

  private static NodeNetwork.Local local(String bridge, String range) {
    return new NodeNetwork.Local(bridge, NodeSubnet.parse(range));
  }

  /** Records what it is told. */
  private static final class FakeHost implements NodeNetwork.Host {
    private final Map<String, NodeNetwork.Local> networks = new TreeMap<>();
    private List<NodeSubnet> used = List.of();
    private Optional<NodeSubnet> subnet = Optional.empty();
    private List<Peer> peers = List.of();
    private Set<Path> paths = Set.of();
    private Map<ServiceKey, Rotation.Members> members = Map.of();
    private int connected;
    private Optional<String> key = Optional.empty();
    private Runnable whenAsked = () -> {};

    @Override
    public Optional<String> obstacle() {
      return Optional.empty();
    }

    @Override
    public List<NodeSubnet> used() {
      Runnable once = whenAsked;
      whenAsked = () -> {};
      once.run();
      return used;
    }

    @Override
    public void use(NodeSubnet own) {
      subnet = Optional.of(own);
    }

    @Override
    public Map<String, NodeNetwork.Local> networks() {
      return networks;
    }

    @Override
    public void connect(
        NodeSubnet own, List<DesiredOverlay.Peer> peers, Set<DesiredOverlay.Path> paths) {
      this.peers = new ArrayList<>(peers);
      this.paths = paths;
      connected++;
    }

    @Override
    public Optional<String> publishedKey() {
      return key;
    }

    @Override
    public Optional<String> verifiedKey(String node, String published) {
      return published.startsWith("signed by " + node) ? Optional.of(node) : Optional.empty();
    }

    @Override
    public List<String> serve(Map<ServiceKey, Rotation.Members> members) {
      this.members = members;
      return List.of();
    }
  }
}
