package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.port.DeploymentNetworks;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.proxy.Proxy;
import dev.zlayer.proxy.ProxyConfig;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.Exposure;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real namespaces on the bridge of a deployment, real traffic through its endpoints. */
@Requires({Fact.ROOT, Fact.CNI, Fact.BUSYBOX})
class DeploymentEndpointsIT {
  private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
  private static final ServiceKey WEB = new ServiceKey("shop", "web");

  @TempDir Path directory;
  private NetworkConfig config;
  private ProxyConfig proxyConfig;
  private NetworkLeaks leaks;
  private Networks networks;
  private Proxy proxy;
  private DeploymentBridges bridges;
  private final Inside inside = new Inside();

  @BeforeEach
  void open() throws Exception {
    config = NetworkLeaks.config(directory).withPoolSize(0);
    leaks = new NetworkLeaks(config);
    networks = Networks.open(config);
    proxyConfig =
        ProxyConfig.of(
                directory.resolve("endpoints"),
                directory.resolve("doors.json"),
                config.subnets()::contains)
            .withPrefix(config.prefix());
    proxy = Proxy.open(proxyConfig, DeploymentEndpointsIT::pause);
    bridges = new DeploymentBridges(networks, proxy);
  }

  @AfterEach
  void destroy() throws Exception {
    inside.close();
    proxy.destroy();
    networks.close();
    leaks.destroy();
  }

  @Test
  void newConnectionsGoToReadyMembersAlsoWithoutAnAgent() throws Exception {
    int port = freePort();
    Attachment one = attach("one", "shop");
    Attachment two = attach("two", "shop");
    inside.tcp(one, 8080, "one");
    inside.tcp(two, 8080, "two");

    proxy.update(members(port, member(1, one, true), member(2, two, true)));
    assertThat(answers(port)).containsExactlyInAnyOrder("one", "two");
    Attachment caller = attach("caller", "shop");
    assertThat(Inside.ask(caller, caller.gateway().orElseThrow(), port)).isIn("one", "two");

    proxy.update(members(port, member(1, one, false), member(2, two, true)));
    assertThat(answers(port)).containsExactly("two");

    proxy.close(); // as if killed: nothing is taken away
    assertThat(answers(port)).containsExactly("two");
    proxy = Proxy.open(proxyConfig, DeploymentEndpointsIT::pause);
    assertThat(answers(port)).containsExactly("two");

    proxy.update(members(port, member(1, one, false), member(2, two, false)));
    assertThat(Inside.ask(LOOPBACK, port)).startsWith("ConnectException");

    proxy.update(members(port, member(1, one, true)));
    assertThat(answers(port)).containsExactly("one");
    proxy.retain(Set.of());
    assertThat(Inside.ask(LOOPBACK, port)).startsWith("ConnectException");
    assertThat(proxy.describe()).isEmpty();
  }

  @Test
  void connectionsStayWithTheirMemberUntilTheyEnd() throws Exception {
    int port = freePort();
    Attachment one = attach("one", "shop");
    Attachment two = attach("two", "shop");
    inside.keep(one, 8080, "one");
    inside.keep(two, 8080, "two");
    proxy.update(members(port, member(1, one, true)));

    try (var socket = new Socket()) {
      socket.connect(new InetSocketAddress(LOOPBACK, port), 20_000);
      socket.setSoTimeout(20_000);
      assertThat(socket.getInputStream().readNBytes(3)).asString().isEqualTo("one");
      proxy.update(members(port, member(1, one, false), member(2, two, true)));

      Deadline short_ = Deadline.after(Duration.ofMillis(400));
      proxy.drain(id(1), short_);
      assertThat(short_.passed()).as("a connection is open").isTrue();
      socket.getOutputStream().write('x');
      assertThat(socket.getInputStream().read()).as("the old member answers").isEqualTo('x');
    }
    Deadline patient = Deadline.after(Duration.ofSeconds(60));
    proxy.drain(id(1), patient);
    assertThat(patient.passed()).as("no connection is open").isFalse();
  }

  @Test
  void theKernelForgetsConnectionsOfMembersThatLeft() throws Exception {
    int port = freePort();
    int client = freePort();
    Attachment one = attach("one", "shop");
    Attachment two = attach("two", "shop");
    inside.keep(one, 8080, "one");
    inside.keep(two, 8080, "two");
    proxy.update(members(port, member(1, one, true)));
    try (var ended = connect(client, port)) {
      assertThat(greeting(ended)).isEqualTo("one");
    }
    try (var held = connect(0, port)) {
      assertThat(greeting(held)).isEqualTo("one");
      Awaitility.await().until(() -> open(one).size() == 1); // the other one has really ended
      proxy.update(members(port, member(2, two, true)));
      assertThat(open(one)).as("a client may take the same port again").isEmpty();
    }
    try (var again = connect(client, port)) {
      assertThat(greeting(again)).as("an ended connection leads nobody").isEqualTo("two");
      proxy.update(members(port, member(2, two, true)));
      assertThat(open(two)).as("those of others stay").isNotEmpty();
    }
  }

  @Test
  void membersThatVanishedWhileThereWasNoAgentAreForgotten() throws Exception {
    int port = freePort();
    Attachment one = attach("one", "shop");
    Attachment two = attach("two", "shop");
    inside.keep(one, 8080, "one");
    proxy.update(members(port, member(1, one, true)));
    try (var held = connect(0, port)) {
      assertThat(greeting(held)).isEqualTo("one");
      proxy.close();
      proxy = Proxy.open(proxyConfig, DeploymentEndpointsIT::pause);
      assertThat(open(one)).as("nobody knows yet").isNotEmpty();
      proxy.update(members(port, member(2, two, true)));
      assertThat(open(one)).isEmpty();
    }
  }

  private static Socket connect(int from, int port) throws IOException {
    var socket = new Socket();
    socket.setReuseAddress(true);
    socket.bind(new InetSocketAddress(LOOPBACK, from));
    socket.setSoTimeout(20_000);
    socket.connect(new InetSocketAddress(LOOPBACK, port), 20_000);
    return socket;
  }

  private static String greeting(Socket socket) throws IOException {
    return new String(socket.getInputStream().readNBytes(3), StandardCharsets.UTF_8);
  }

  /** What the kernel remembers of connections to the member that have not ended. */
  private static List<String> open(Attachment member) throws IOException {
    String answering = " src=" + member.ip().orElseThrow().getHostAddress() + " ";
    try (var lines = Files.lines(Path.of("/proc/net/nf_conntrack"))) {
      return lines
          .filter(line -> line.contains(answering) && !line.contains(" TIME_WAIT "))
          .toList();
    }
  }

  @Test
  void datagramsAreForwardedToReadyMembers() throws Exception {
    int port = freePort();
    Attachment one = attach("one", "shop");
    Attachment two = attach("two", "shop");
    inside.udp(two, 8080);
    EndpointSpec datagrams = endpoint(EndpointSpec.Protocol.UDP, port);
    proxy.update(
        new Members(
            WEB,
            List.of(datagrams),
            Reachability.NEVER,
            List.of(member(1, one, false), member(2, two, true))));

    Awaitility.await()
        .untilAsserted(() -> assertThat(Inside.askUdp(LOOPBACK, port, "hello")).isEqualTo("hello"));
  }

  @Test
  void aSteadySenderOfDatagramsFollowsTheMembers() throws Exception {
    int port = freePort();
    Attachment one = attach("one", "shop");
    Attachment two = attach("two", "shop");
    inside.udp(one, 8080);
    inside.udp(two, 8080);
    EndpointSpec datagrams = endpoint(EndpointSpec.Protocol.UDP, port);
    try (var socket = new DatagramSocket()) {
      socket.connect(LOOPBACK, port);
      socket.setSoTimeout(20_000);

      proxy.update(udp(datagrams));
      assertThat(exchange(socket)).as("nobody is there").isEqualTo("refused");
      proxy.update(udp(datagrams, member(1, one, true)));
      assertThat(exchange(socket)).isEqualTo("ping");
      assertThat(datagramsTo(port)).allMatch(line -> line.contains(source(one)));

      proxy.update(udp(datagrams, member(1, one, false), member(2, two, true)));
      assertThat(exchange(socket)).isEqualTo("ping");
      assertThat(datagramsTo(port)).isNotEmpty().allMatch(line -> line.contains(source(two)));

      proxy.update(udp(datagrams, member(2, two, false)));
      assertThat(exchange(socket)).isEqualTo("refused");
    }
  }

  private static Members udp(EndpointSpec endpoint, Member... members) {
    return new Members(WEB, List.of(endpoint), Reachability.NEVER, List.of(members));
  }

  private static String exchange(DatagramSocket socket) throws IOException {
    byte[] ping = "ping".getBytes(StandardCharsets.UTF_8);
    var answer = new DatagramPacket(new byte[100], 100);
    try {
      socket.send(new DatagramPacket(ping, ping.length));
      socket.receive(answer);
      return new String(answer.getData(), 0, answer.getLength(), StandardCharsets.UTF_8);
    } catch (PortUnreachableException _) {
      return "refused";
    } catch (SocketTimeoutException _) {
      return "no answer";
    }
  }

  private static String source(Attachment member) {
    return " src=" + member.ip().orElseThrow().getHostAddress() + " ";
  }

  private static List<String> datagramsTo(int port) throws IOException {
    try (var lines = Files.lines(Path.of("/proc/net/nf_conntrack"))) {
      return lines
          .filter(line -> line.contains(" udp ") && line.contains(" dport=" + port + " "))
          .toList();
    }
  }

  @Test
  void theTableOfEarlierVersionsIsReplacedWithoutClosingItsPorts() throws Exception {
    int port = freePort();
    Attachment one = attach("one", "shop");
    inside.keep(one, 8080, "one");
    proxy.update(members(port, member(1, one, true)));
    proxy.destroy();
    Path former = proxyConfig.formerState();
    Files.writeString(
        former,
        """
        {"version":1,"name_port":0,"ranges":[],"doors":[{"transport":"tcp","loopback":false,
         "port":%d,"deployment":"shop","service":"web","endpoint":"http","target_port":8080,
         "way":"kernel","members":["%s"]}]}
        """
            .formatted(port, one.ip().orElseThrow().getHostAddress()));
    String old = config.prefix() + "_doors";
    nft("add table ip " + old);
    nft("add chain ip " + old + " output { type nat hook output priority -101; }");
    nft(
        "add rule ip %s output tcp dport %d dnat to %s:8080"
            .formatted(old, port, one.ip().orElseThrow().getHostAddress()));
    try (var held = connect(0, port)) {
      assertThat(greeting(held)).isEqualTo("one");

      proxy = Proxy.open(proxyConfig, DeploymentEndpointsIT::pause);

      held.getOutputStream().write('x');
      assertThat(held.getInputStream().read()).as("the connection is kept").isEqualTo('x');
      try (var fresh = connect(0, port)) {
        assertThat(greeting(fresh)).isEqualTo("one");
      }
    }
    assertThat(Files.exists(former)).isFalse();
    assertThat(nftSucceeds("list table ip " + old)).isFalse();
    proxy.close();
    proxy = Proxy.open(proxyConfig, DeploymentEndpointsIT::pause);
    assertThat(proxy.describe()).singleElement().asString().contains("shop/web:8080");
  }

  private static void nft(String command) throws InterruptedException {
    assertThat(nftSucceeds(command)).as(command).isTrue();
  }

  private static boolean nftSucceeds(String command) throws InterruptedException {
    return Processes.run(Command.of("nft", command), Deadline.after(Duration.ofSeconds(20)))
        .success();
  }

  @Test
  void aPortOfAnotherProgramOrServiceIsNotTaken() throws Exception {
    Attachment one = attach("one", "shop");
    try (var taken = new ServerSocket(0)) {
      assertThatThrownBy(() -> proxy.update(members(taken.getLocalPort(), member(1, one, true))))
          .isInstanceOf(AgentException.Configuration.class)
          .hasMessageContaining(
              "is already in use by java (pid " + ProcessHandle.current().pid() + ")");
    }
    int port = freePort();
    proxy.update(members(port, member(1, one, true)));
    Members other =
        new Members(
            new ServiceKey("blog", "web"),
            members(port).endpoints(),
            Reachability.NEVER,
            List.of());
    assertThatThrownBy(() -> proxy.update(other))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("is already in use by shop/web");
  }

  @Test
  void servicesFindEachOtherByNameWithinTheirDeployment() throws Exception {
    Attachment one = attach("one", "shop");
    Attachment caller = attach("caller", "shop");
    Attachment stranger = attach("stranger", "blog");
    proxy.update(members(freePort(), member(1, one, true)));
    String address = one.ip().orElseThrow().getHostAddress();

    assertThat(lookUp(caller, "web").stdout()).contains(address);
    assertThat(lookUp(caller, "1.web.shop.zlayer.internal").stdout()).contains(address);
    assertThat(lookUp(caller, "web.shop.zlayer.internal").stdout()).contains(address);
    assertThat(lookUp(stranger, "web.shop.zlayer.internal").stdout()).doesNotContain(address);

    proxy.close();
    proxy = Proxy.open(proxyConfig, DeploymentEndpointsIT::pause);
    proxy.update(members(freePort(), member(1, one, true)));
    assertThat(lookUp(caller, "web").stdout()).contains(address);
  }

  @Test
  void theNetworkOfADeploymentIsRemovedWithoutATrace() throws Exception {
    DeploymentNetworks.Network first = bridges.make("shop");
    assertThat(bridges.make("shop")).isEqualTo(first);
    assertThat(bridges.make("Shop").name()).isNotEqualTo(first.name());
    attach("one", "shop");

    assertThatThrownBy(() -> bridges.remove("shop")).isInstanceOf(AgentException.Conflict.class);
    networks.detach("one");
    bridges.remove("shop");
    bridges.remove("shop");
    bridges.remove("Shop");

    assertThat(networks.networks()).isEmpty();
    assertThat(leaks.bridges()).isEmpty();
    leaks.assertNone();
  }

  @Test
  void aNetworkThatIsJoinedOftenHasNamespacesReady() throws Exception {
    networks.close();
    networks = Networks.open(config.withPoolSize(1));
    bridges = new DeploymentBridges(networks, proxy);
    Awaitility.await().until(() -> networks.prepared() == 1); // that of the network of single ones
    for (int run = 0; run < 8; run++) {
      attach("job", "shop");
      networks.detach("job");
    }

    Awaitility.await().until(() -> networks.prepared() >= 2);
    bridges.remove("shop");
    assertThat(networks.networks())
        .extracting(NamedNetwork::name)
        .containsExactly(NamedNetwork.DEFAULT);
    assertThat(leaks.bridges()).hasSize(1);
    assertThat(networks.prepared()).isEqualTo(1);
  }

  private Attachment attach(String name, String deployment) throws InterruptedException {
    DeploymentNetworks.Network network = bridges.make(deployment);
    return networks.attach(name, NetworkSpec.of(new NetworkSpec.Mode.Bridge(network.name())));
  }

  private static CommandResult lookUp(Attachment from, String name) throws InterruptedException {
    return Inside.run(
        from,
        "busybox",
        "nslookup",
        "-type=a",
        name,
        from.gateway().orElseThrow().getHostAddress());
  }

  private static Set<String> answers(int port) {
    var answers = new HashSet<String>();
    for (int i = 0; i < 6; i++) {
      answers.add(Inside.ask(LOOPBACK, port));
    }
    return answers;
  }

  private static Members members(int port, Member... members) {
    return new Members(
        WEB,
        List.of(endpoint(EndpointSpec.Protocol.HTTP, port)),
        Reachability.NEVER,
        List.of(members));
  }

  private static EndpointSpec endpoint(EndpointSpec.Protocol protocol, int port) {
    return new EndpointSpec(
        protocol == EndpointSpec.Protocol.UDP ? "datagrams" : "http",
        protocol,
        port,
        Optional.of(8080),
        Exposure.PUBLIC,
        Optional.empty());
  }

  private static Member member(int number, Attachment attachment, boolean ready) {
    return new Member(id(number), attachment.ip().orElseThrow(), ready);
  }

  private static ContainerId id(int number) {
    return ContainerId.of("shop", "web", number);
  }

  private static int freePort() throws Exception {
    try (var socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  private static void pause(Duration pause) throws InterruptedException {
    Thread.sleep(pause);
  }
}
