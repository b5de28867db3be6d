package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ConnectionSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.NetworkSpec.Port;
import dev.zlayer.container.NetworkSpec.Protocol;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Containers on several networks, which come and go while the namespace is in use. */
class ConnectionsIT {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  @TempDir Path directory;
  private NetworkConfig config;
  private NetworkLeaks leaks;
  private Networks networks;
  private final Inside inside = new Inside();

  @BeforeEach
  void open() throws Exception {
    config = NetworkLeaks.config(directory).withPoolSize(0);
    leaks = new NetworkLeaks(config);
    networks = Networks.open(config);
  }

  @AfterEach
  void destroy() throws Exception {
    inside.close();
    networks.close();
    leaks.destroy();
  }

  private void reopen() throws InterruptedException {
    networks.close();
    networks = Networks.open(config);
  }

  private static String interfaces(Attachment where) throws InterruptedException {
    return Inside.run(where, "ip", "-4", "-br", "addr").stdout();
  }

  private static String routes(Attachment where) throws InterruptedException {
    return Inside.run(where, "ip", "route").stdout();
  }

  private Attachment attach(String name, Port... ports) throws InterruptedException {
    return networks.attach(name, NetworkSpec.DEFAULT.withPorts(ports));
  }

  private ContainerNetworks.Member connect(String name, String network, String... aliases)
      throws InterruptedException {
    return networks.members().connect(name, network, ConnectionSpec.of(List.of(aliases)));
  }

  @Test
  void aContainerIsReachedOnEveryNetworkItIsOn() throws Exception {
    networks.create("back");
    Attachment web = attach("web");
    Attachment db =
        networks.attach("db", NetworkSpec.of(new NetworkSpec.Mode.Bridge(Optional.of("back"))));
    inside.tcp(db, 5000, "database");
    InetAddress server = db.ip().orElseThrow();
    assertThat(Inside.silent(web, server, 5000)).as("walled off").isTrue();

    ContainerNetworks.Member member = connect("web", "back", "front");
    assertThat(member.ip()).isPresent();
    assertThat(member.mac()).isPresent();
    assertThat(Inside.ask(web, server, 5000)).isEqualTo("database");
    assertThat(interfaces(web)).contains("eth1").contains(member.ip().get().getHostAddress());
    assertThat(routes(web)).containsOnlyOnce("default");
    assertThat(networks.members().memberships("web"))
        .extracting(ContainerNetworks.Member::network)
        .containsExactly("default", "back");
    assertThat(networks.users("back")).containsExactly("db", "web");
    assertThat(networks.members().networksOf(web.ip().orElseThrow()))
        .containsExactly("default", "back");
    assertThatThrownBy(() -> connect("web", "back")).isInstanceOf(AgentException.Conflict.class);
    assertThatThrownBy(() -> networks.removeNetwork("back"))
        .isInstanceOf(AgentException.Conflict.class)
        .hasMessageContaining("db, web");

    networks.members().disconnect("web", "back");
    assertThat(Inside.silent(web, server, 5000)).isTrue();
    assertThat(interfaces(web)).doesNotContain("eth1");
    assertThatThrownBy(() -> networks.members().disconnect("web", "back"))
        .isInstanceOf(AgentException.NotFound.class);
    assertThatThrownBy(() -> connect("web", "nope")).isInstanceOf(AgentException.NotFound.class);
    assertThatThrownBy(() -> connect("nobody", "back"))
        .isInstanceOf(AgentException.InvalidSpec.class);
    assertThat(networks.strayAddresses()).isEmpty();
  }

  @Test
  void anotherAgentKnowsTheConnectionsAndUndoesThem() throws Exception {
    networks.create("back");
    Attachment web = attach("web");
    ContainerNetworks.Member member = connect("web", "back", "front");
    reopen();
    assertThat(networks.members().memberships("web")).contains(member);
    assertThat(interfaces(web)).contains("eth1");
    assertThat(networks.strayAddresses()).isEmpty();
    attach("other");
    assertThat(connect("other", "back").ip()).isNotEqualTo(member.ip());
    networks.detach("web");
    networks.detach("other");
    networks.settle(Deadline.after(LIMIT));
    leaks.assertNone();
    assertThat(networks.members().memberships("web")).isEmpty();
    networks.removeNetwork("back");
  }

  @Test
  void fixedAddressesRangesAndGatewaysAreHonoured() throws Exception {
    Subnet free =
        config
            .subnets()
            .free(24, networks.networks().stream().map(NamedNetwork::subnet).toList())
            .orElseThrow();
    var options =
        new NetworkOptions(
            Optional.of(free),
            Optional.of(free.host(254)),
            Optional.of(new Subnet(free.address() + 128, 26)),
            false,
            Optional.empty(),
            false,
            Map.of("team", "blue"),
            Optional.empty());
    NamedNetwork network = networks.create("fixed", options);
    assertThat(network.gateway()).isEqualTo(free.host(254));
    reopen();
    assertThat(networks.networks()).contains(network);
    attach("web");
    ContainerNetworks.Member given = connect("web", "fixed");
    assertThat(new Subnet(free.address() + 128, 26).contains(given.ip().orElseThrow())).isTrue();
    assertThat(given.gateway()).contains(free.host(254));

    attach("db");
    assertThat(at("db", free.host(10)).ip()).contains(free.host(10));
    attach("third");
    assertThatThrownBy(() -> at("third", free.host(10)))
        .isInstanceOf(AgentException.Conflict.class)
        .hasMessageContaining("is in use");
    assertThat(networks.members().memberships("third")).hasSize(1);
    assertThatThrownBy(() -> at("third", InetAddress.ofLiteral("192.0.2.1")))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("is not in subnet");
    assertThatThrownBy(() -> networks.create("again", options))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("overlaps");
    assertThatThrownBy(
            () ->
                networks.create(
                    "odd",
                    new NetworkOptions(
                        Optional.empty(),
                        Optional.of(free.host(1)),
                        Optional.empty(),
                        false,
                        Optional.empty(),
                        false,
                        Map.of(),
                        Optional.empty())))
        .hasMessageContaining("needs a subnet");
  }

  private ContainerNetworks.Member at(String name, InetAddress address)
      throws InterruptedException {
    return networks
        .members()
        .connect(name, "fixed", ConnectionSpec.NONE.withAddresses(List.of(address)));
  }

  @Test
  void anInterfaceHasTheAddressesThatWereAskedFor() throws Exception {
    networks.create("back");
    Attachment web = attach("web");
    var wanted =
        new ConnectionSpec(
            List.of("front"),
            List.of(),
            Optional.of("02:42:ac:11:00:0a"),
            List.of(new ConnectionSpec.Link("db", "store")),
            Map.of("key", "value"));
    ContainerNetworks.Member member = networks.members().connect("web", "back", wanted);
    assertThat(member.mac()).contains("02:42:ac:11:00:0a");
    assertThat(Inside.run(web, "ip", "link", "show", "eth1").stdout())
        .contains("02:42:ac:11:00:0a");
    reopen();
    assertThat(networks.members().memberships("web").getLast().asked()).isEqualTo(wanted);
    assertThat(networks.members().linked(member.ip().orElseThrow(), "STORE"))
        .containsExactly(new ContainerNetworks.Linked("back", "db"));
    assertThat(networks.members().linked(member.ip().orElseThrow(), "db")).isEmpty();
    Attachment db =
        networks.attach("db", NetworkSpec.of(new NetworkSpec.Mode.Bridge(Optional.of("back"))));
    inside.tcp(db, 5000, "database");
    assertThat(Inside.ask(web, db.ip().orElseThrow(), 5000)).isEqualTo("database");

    attach("other");
    for (String odd : List.of("01:42:ac:11:00:0b", "02:42:ac:11:00", "nonsense")) {
      assertThatThrownBy(
              () ->
                  networks
                      .members()
                      .connect("other", "back", ConnectionSpec.NONE.withMac(Optional.of(odd))))
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining(odd);
    }
    assertThat(networks.members().memberships("other")).hasSize(1);
  }

  @Test
  void theNetworkItWasCreatedOnCanBeLeftToo() throws Exception {
    networks.create("back");
    Attachment web =
        attach("web", new Port(OptionalInt.empty(), 5000, Protocol.TCP, Optional.empty()));
    inside.tcp(web, 5000, "hello");
    int port = web.ports().getFirst().hostPort();
    InetAddress host = InetAddress.ofLiteral("127.0.0.1");
    assertThat(Inside.ask(host, port)).isEqualTo("hello");
    ContainerNetworks.Member member = connect("web", "back");

    networks.members().disconnect("web", "default");
    assertThat(routes(web)).containsOnlyOnce("default via");
    Attachment now = networks.find("web").orElseThrow();
    assertThat(now.ip()).isEqualTo(member.ip());
    assertThat(Inside.ask(host, port)).as("published where it is now").isEqualTo("hello");
    reopen();
    assertThat(networks.find("web").orElseThrow().ip()).isEqualTo(member.ip());
    assertThat(Inside.ask(host, port)).isEqualTo("hello");

    networks.members().disconnect("web", "back");
    assertThat(interfaces(web)).doesNotContain("eth");
    assertThat(networks.find("web").orElseThrow().ip()).isEmpty();
    connect("web", "default");
    assertThat(routes(web)).containsOnlyOnce("default via");
    assertThat(Inside.ask(host, port)).isEqualTo("hello");
    networks.detach("web");
    networks.settle(Deadline.after(LIMIT));
    leaks.assertNone();
  }

  /** As after a restart of the machine: the namespace is gone, the connections are wanted. */
  @Test
  void aNewNamespaceIsConnectedAsTheOldOneWas() throws Exception {
    networks.create("back");
    attach("web");
    networks.members().alias("web", List.of("site"));
    ContainerNetworks.Member before = connect("web", "back", "front");
    networks.close();
    leaks.destroy();
    try (var all = java.nio.file.Files.walk(config.runDirectory())) {
      for (Path path : all.sorted(java.util.Comparator.reverseOrder()).toList()) {
        java.nio.file.Files.delete(path);
      }
    }
    networks = Networks.open(config);
    assertThat(networks.members().memberships("web")).isEmpty();
    Attachment again = attach("web");
    assertThat(interfaces(again)).contains("eth0").contains("eth1");
    assertThat(networks.members().memberships("web"))
        .extracting(ContainerNetworks.Member::aliases)
        .containsExactly(List.of("site"), List.of("front"));
    assertThat(networks.members().memberships("web").getLast().network())
        .isEqualTo(before.network());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "connection recorded",
        "connection added",
        "connection made",
        "connection removed",
        "disconnection recorded"
      })
  void anAgentThatDiesLeavesNothingTheNextOneDoesNotKnow(String step) throws Exception {
    networks.close();
    Process agent =
        Processes.start(
            Command.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                CrashingAgent.class.getName(),
                config.runDirectory().toString(),
                config.stateDirectory().toString(),
                config.prefix(),
                config.subnets().toString(),
                step,
                ""));
    assertThat(agent.waitFor()).isEqualTo(CrashingAgent.DIED);
    networks = Networks.open(config);
    networks.settle(Deadline.after(LIMIT));
    Attachment victim = networks.find("victim").orElseThrow();
    int expected = step.equals("connection made") ? 2 : step.startsWith("dis") ? 0 : 1;
    assertThat(networks.members().memberships("victim")).hasSize(expected);
    assertThat(interfaces(victim).lines().filter(line -> line.startsWith("eth"))).hasSize(expected);
    assertThat(leaks.addresses()).hasSize(expected);
    leaks.assertOnly(Set.of("victim"), expected, expected == 0 ? 0 : 1);
    networks.detach("victim");
    networks.settle(Deadline.after(LIMIT));
    leaks.assertNone();
    assertThat(networks.strayAddresses()).isEmpty();
  }
}
