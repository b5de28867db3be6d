package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.CommandResult;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FreePorts;
import dev.zlayer.testkit.Requires;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Networks and volumes, as Docker's own command line handles them. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.DOCKERD})
class DockerNetworksIT {
  private static final String IMAGE = Node.IMAGE;

  /** An answer of an authority, that the name does not exist. */
  private static final String NO_SUCH_NAME = "85 83";

  @RegisterExtension static final DockerNode node = new DockerNode();
  private static final DockerCli docker = node.docker();

  private static Json inspect(String kind, String name) throws Exception {
    return JsonText.parse(docker.out(kind, "inspect", name)).items().getFirst();
  }

  private static String run(String name, String... options) throws Exception {
    var words = new java.util.ArrayList<>(List.of("run", "-d", "--name", name));
    words.addAll(List.of(options));
    words.addAll(List.of(IMAGE, "sleep", "300"));
    return docker.out(words.toArray(String[]::new));
  }

  @Test
  void theUsualNetworksAreAlwaysThere() throws Exception {
    assertThat(docker.out("network", "ls", "--format", "{{.Name}} {{.Driver}}").lines())
        .contains("bridge bridge", "host host", "none null");
    assertThat(inspect("network", "bridge").at("Driver").string()).contains("bridge");
    assertThat(docker.run("network", "rm", "bridge").stderr()).contains("pre-defined network");
    assertThat(docker.run("network", "rm", "nope").code()).isNotZero();
    assertThat(docker.run("network", "inspect", "nope").stderr()).contains("nope");
    run("one");
    assertThat(docker.run("network", "connect", "host", "one").stderr()).contains("host network");
  }

  @Test
  void networksAreCreatedJoinedLeftAndRemoved() throws Exception {
    String id = docker.out("network", "create", "--label", "team=blue", "back");
    assertThat(id).matches("[0-9a-f]{64}");
    assertThat(docker.run("network", "create", "back").stderr()).contains("already exists");
    assertThat(docker.out("network", "ls", "-q", "--filter", "label=team=blue"))
        .isEqualTo(id.substring(0, 12));
    assertThat(docker.out("network", "ls", "-q", "--filter", "type=custom"))
        .isEqualTo(id.substring(0, 12));
    String db = run("db", "--network", "back");
    String web = run("web");
    docker.out("network", "connect", "--alias", "front", "back", "web");
    Json network = inspect("network", id.substring(0, 10));
    assertThat(network.at("Containers").members()).containsOnlyKeys(db, web);
    String ip = network.at("Containers").at(db).at("IPv4Address").string().orElseThrow();
    assertThat(docker.out("exec", "web", "nslookup", "db"))
        .contains(ip.substring(0, ip.indexOf('/')));
    assertThat(docker.out("exec", "db", "nslookup", "front")).contains("Name:");
    assertThat(inspect("container", "web").at("NetworkSettings").at("Networks").members())
        .containsOnlyKeys("bridge", "back");
    assertThat(docker.run("network", "rm", "back").stderr()).contains("has active endpoints");
    docker.out("network", "disconnect", "back", "web");
    assertThat(inspect("network", "back").at("Containers").members()).containsOnlyKeys(db);
    docker.out("rm", "-f", "db");
    assertThat(docker.out("network", "prune", "-f")).contains("back");
  }

  /** Whoever is on it may have whatever routes; the firewall lets nothing out. */
  @Test
  void anInternalNetworkIsCutOff() throws Exception {
    try (var outside = OutsideHost.open()) {
      docker.out("network", "create", "open");
      docker.out("network", "create", "--internal", "closed");
      int port = FreePorts.take();
      docker.out(
          "run",
          "-d",
          "--name",
          "web",
          "--network",
          "open",
          "-p",
          port + ":80",
          IMAGE,
          "nc",
          "-ll",
          "-p",
          "80",
          "-e",
          "/bin/echo",
          "served");
      String host = gateway("open");
      for (String network : List.of("open", "closed")) {
        run("on-" + network, "--network", network, "--cap-add", "NET_ADMIN");
        docker.run(
            "exec", "on-" + network, "ip", "route", "add", "default", "via", gateway(network));
      }
      run("beside", "--network", "closed");
      Awaitility.await()
          .untilAsserted(
              () -> {
                assertThat(asked("on-open", outside.address(), outside.port()))
                    .isEqualTo("outside");
                assertThat(asked("on-open", host, port)).isEqualTo("served");
              });
      assertThat(asked("on-closed", outside.address(), outside.port())).isEmpty();
      assertThat(asked("on-closed", host, port))
          .as("a port published by another network")
          .isEmpty();
      assertThat(asked("on-closed", gateway("closed"), port)).isEmpty();
      assertThat(docker.out("exec", "on-closed", "ping", "-c", "1", "-W", "5", "beside"))
          .contains("1 packets received");
      assertThat(docker.out("exec", "on-closed", "nslookup", "beside")).contains("Name:");
      assertThat(nameElsewhere("on-closed")).isEqualTo(NO_SUCH_NAME);
      docker.out("network", "connect", "open", "on-closed");
      assertThat(nameElsewhere("on-closed"))
          .as("on another network, too, which has a way out")
          .isEqualTo(nameElsewhere("on-open"))
          .isNotEqualTo(NO_SUCH_NAME);
    }
  }

  /**
   * The flags of the answer to a question for a name of the world, by TCP. Servers that are asked
   * for us answer otherwise: they are not the authority for it.
   */
  private static String nameElsewhere(String container) throws Exception {
    String question =
        "\\0\\042\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + "\\4data\\7example\\3com\\0\\0\\1\\0\\1";
    return docker
        .out(
            "exec",
            container,
            "sh",
            "-c",
            "server=$(awk '/^nameserver/ {print $2}' /etc/resolv.conf); "
                + "printf '"
                + question
                + "' | nc -w 20 $server 53 | head -c 6 | tail -c 2 | od -An -tx1")
        .strip();
  }

  private static String gateway(String network) throws Exception {
    return docker.out("network", "inspect", "-f", "{{(index .IPAM.Config 0).Gateway}}", network);
  }

  /** What answers there; empty when nobody does. */
  private static String asked(String container, String address, int port) throws Exception {
    return docker
        .run("exec", container, "timeout", "3", "nc", "-w", "2", address, String.valueOf(port))
        .stdout()
        .strip();
  }

  @Test
  void namesAreAsDockersMayBe() throws Exception {
    docker.out("network", "create", "My.Net_1");
    run("web", "--network", "My.Net_1");
    assertThat(endpoint("web", "My.Net_1").at("IPAddress").string()).isNotEqualTo(Optional.of(""));
    assertThat(docker.out("exec", "web", "nslookup", "web")).contains("Name:");
    assertThat(docker.run("network", "create", "a b").stderr()).contains("network name 'a b'");
    assertThat(docker.run("network", "create", "../x").code()).isNotZero();
    docker.out("rm", "-f", "web");
    docker.out("network", "rm", "My.Net_1");
  }

  @Test
  void addressesAreAsAskedFor() throws Exception {
    docker.out(
        "network",
        "create",
        "--subnet",
        "10.213.7.0/24",
        "--gateway",
        "10.213.7.254",
        "--ip-range",
        "10.213.7.64/26",
        "fixed");
    Json config = inspect("network", "fixed").at("IPAM").at("Config").items().getFirst();
    assertThat(config.at("Subnet").string()).contains("10.213.7.0/24");
    assertThat(config.at("Gateway").string()).contains("10.213.7.254");
    run("web");
    docker.out("network", "connect", "--ip", "10.213.7.9", "fixed", "web");
    assertThat(docker.out("exec", "web", "ip", "addr")).contains("10.213.7.9/24");
    run("db", "--network", "fixed", "--ip", "10.213.7.10", "--network-alias", "store");
    assertThat(docker.out("exec", "db", "ip", "addr")).contains("10.213.7.10/24");
    assertThat(docker.out("exec", "web", "nslookup", "store")).contains("10.213.7.10");
    assertThat(docker.run("run", "-d", "--network", "fixed", "--ip", "10.213.7.10", IMAGE).stderr())
        .contains("is in use");
    assertThat(docker.run("network", "create", "-d", "macvlan", "x").stderr())
        .contains("every network is a bridge");
    assertThat(docker.run("network", "create", "--ipv6", "--subnet", "fd00:7a::1/64", "x").stderr())
        .contains("fd00:7a::1/64 is not a network");
  }

  private static Json endpoint(String container, String network) throws Exception {
    return inspect("container", container).at("NetworkSettings").at("Networks").at(network);
  }

  /** Each field of an endpoint has its effect, is shown again, or is refused by its name. */
  @Test
  void anEndpointIsAsAskedFor() throws Exception {
    docker.out("network", "create", "--subnet", "10.213.9.0/24", "back");
    String web = run("web", "--network", "back");
    docker.out("network", "disconnect", "back", "web");
    node.wire()
        .post(
            "/networks/back/connect",
            """
            {"Container": "%s", "EndpointConfig": {"Links": ["upstream:bar"],
             "MacAddress": "02-42-AC-11-00-02", "DriverOpts": {"key": "on"},
             "IPAMConfig": {"IPv4Address": "10.213.9.24"}}}
            """
                .formatted(web))
        .expect(200);
    Json endpoint = endpoint("web", "back");
    assertThat(endpoint.at("Links").strings()).containsExactly("upstream:bar");
    assertThat(endpoint.at("MacAddress").string()).contains("02:42:ac:11:00:02");
    assertThat(endpoint.at("DriverOpts").stringMap()).containsEntry("key", "on");
    assertThat(endpoint.at("IPAMConfig").at("IPv4Address").string()).contains("10.213.9.24");
    assertThat(docker.out("exec", "web", "ip", "link", "show", "eth0"))
        .contains("02:42:ac:11:00:02");
    assertThat(docker.run("exec", "web", "nslookup", "bar").code()).isNotZero();
    run("upstream", "--network", "back", "--ip", "10.213.9.7");
    assertThat(docker.out("exec", "web", "nslookup", "bar")).contains("10.213.9.7");
    run(
        "beside",
        "--network",
        "back",
        "--link",
        "upstream:db",
        "--mac-address",
        "02:00:00:00:00:05");
    assertThat(docker.out("exec", "beside", "nslookup", "db")).contains("10.213.9.7");
    assertThat(docker.run("exec", "beside", "nslookup", "bar").code())
        .as("of web alone")
        .isNotZero();
    assertThat(endpoint("beside", "back").at("MacAddress").string()).contains("02:00:00:00:00:05");

    docker.out("network", "disconnect", "back", "web");
    for (var refused :
        Map.of(
                "{\"GwPriority\": 1}", "EndpointConfig.GwPriority is not supported",
                "{\"IPAMConfig\": {\"LinkLocalIPs\": [\"169.254.1.1\"]}}",
                    "EndpointConfig.IPAMConfig.LinkLocalIPs is not supported",
                "{\"DriverOpts\": {\"com.docker.network.endpoint.ifname\": \"x\"}}",
                    "EndpointConfig.DriverOpts.com.docker.network.endpoint.ifname is not supported",
                "{\"Nonsense\": 1}", "EndpointConfig.Nonsense is not supported: it is unknown",
                "{\"MacAddress\": \"nonsense\"}", "invalid MAC address: nonsense",
                "{\"IPAMConfig\": {\"IPv6Address\": \"10.213.9.24\"}}",
                    "invalid IPv6 address: 10.213.9.24")
            .entrySet()) {
      assertThat(
              node.wire()
                  .post(
                      "/networks/back/connect",
                      "{\"Container\": \"%s\", \"EndpointConfig\": %s}"
                          .formatted(web, refused.getKey()))
                  .expect(400)
                  .message())
          .contains(refused.getValue());
    }
    assertThat(
            node.wire()
                .post(
                    "/networks/create",
                    "{\"Name\": \"odd\", \"IPAM\": {\"Config\": [{\"Subnett\": \"10.1.0.0/16\"}]}}")
                .expect(400)
                .message())
        .contains("IPAM.Config.Subnett is not supported: it is unknown");
  }

  /** The usual network has no names: what links there is in the file of hosts and in variables. */
  @Test
  void linksOfTheUsualNetworkAreHostsAndVariables() throws Exception {
    run("db", "--expose", "5432", "-e", "FOO=1");
    String ip = endpoint("db", "bridge").at("IPAddress").string().orElseThrow();
    run("db_2");
    run("web", "--link", "db:my-store", "--link", "db_2", "--mac-address", "02:42:ac:11:00:0a");
    assertThat(docker.out("exec", "web", "cat", "/etc/hosts").replace('\t', ' '))
        .contains(ip + " my-store");
    assertThat(docker.out("exec", "web", "env").lines())
        .contains(
            "MY_STORE_NAME=/web/my-store",
            "MY_STORE_ENV_FOO=1",
            "MY_STORE_PORT=tcp://%s:5432".formatted(ip),
            "MY_STORE_PORT_5432_TCP_ADDR=" + ip);
    assertThat(
            docker.out(
                "inspect", "-f", "{{.HostConfig.Links}} {{.NetworkSettings.MacAddress}}", "web"))
        .isEqualTo("[/db:/web/my-store /db_2:/web/db_2] 02:42:ac:11:00:0a");
    assertThat(docker.run("run", "--link", "nobody:x", IMAGE, "true").stderr())
        .contains("could not get container for nobody: No such container: nobody");
    docker.out("network", "create", "apart");
    run("far", "--network", "apart");
    assertThat(docker.run("run", "--link", "far:x", IMAGE, "true").stderr())
        .contains("cannot link to far: it is not on network bridge");
    assertThat(docker.run("run", "--network", "none", "--link", "db:x", IMAGE, "true").stderr())
        .contains("conflicting options");
  }

  @Test
  void rangesGatewaysAndReservedAddressesAreHonoured() throws Exception {
    docker.out(
        "network",
        "create",
        "--subnet",
        "10.213.8.0/29",
        "--aux-address",
        "router=10.213.8.2",
        "--aux-address",
        "printer=10.213.8.4",
        "small");
    Json config = inspect("network", "small").at("IPAM").at("Config").items().getFirst();
    assertThat(config.at("AuxiliaryAddresses").stringMap())
        .containsExactlyInAnyOrderEntriesOf(
            Map.of("router", "10.213.8.2", "printer", "10.213.8.4"));
    for (String name : List.of("first", "second", "third")) {
      run(name, "--network", "small");
    }
    assertThat(
            List.of("first", "second", "third").stream()
                .map(
                    name -> {
                      try {
                        return endpoint(name, "small").at("IPAddress").string().orElseThrow();
                      } catch (Exception e) {
                        throw new AssertionError(e);
                      }
                    }))
        .containsExactlyInAnyOrder("10.213.8.3", "10.213.8.5", "10.213.8.6");
  }

  /** As Docker does it: whoever is started first has the port, and until it is stopped. */
  @Test
  void portsAreTakenAtTheStartAndFreedAtTheStop() throws Exception {
    String port = String.valueOf(FreePorts.take());
    for (String name : List.of("first", "second")) {
      docker.out("create", "--name", name, "-p", port + ":80", IMAGE, "sleep", "300");
    }
    docker.out("start", "first");
    assertThat(docker.out("port", "first")).isEqualTo("80/tcp -> 0.0.0.0:" + port);
    CommandResult refused = docker.run("start", "second");
    assertThat(refused.code()).isEqualTo(1);
    assertThat(refused.stderr())
        .contains("driver failed programming external connectivity on endpoint second (")
        .contains("Bind for 0.0.0.0:%s failed: port is already allocated".formatted(port));
    assertThat(docker.out("inspect", "-f", "{{.State.Status}}", "second")).isEqualTo("created");
    CommandResult run = docker.run("run", "-d", "--rm", "-p", port + ":80", IMAGE, "sleep", "300");
    assertThat(run.code()).isEqualTo(125);
    assertThat(run.stderr()).contains("port is already allocated");
    Awaitility.await().untilAsserted(() -> assertThat(docker.out("ps", "-aq").lines()).hasSize(2));

    docker.out("stop", "-t", "0", "first");
    assertThat(docker.out("inspect", "-f", "{{.NetworkSettings.Ports}}", "first"))
        .isEqualTo("map[]");
    docker.out("start", "second");
    assertThat(docker.run("start", "first").code()).isEqualTo(1);
    docker.out("rm", "-f", "second");
    docker.out("start", "first");
    assertThat(docker.out("port", "first")).isEqualTo("80/tcp -> 0.0.0.0:" + port);
    try (var other = new java.net.ServerSocket(0)) {
      CommandResult taken =
          docker.run("run", "-d", "-p", other.getLocalPort() + ":80", IMAGE, "sleep", "300");
      assertThat(taken.stderr())
          .contains(
              "failed to bind host port 0.0.0.0:%d/tcp: address already in use"
                  .formatted(other.getLocalPort()));
    }
  }

  @Test
  void volumesHaveLabelsAndArePrunedByThem() throws Exception {
    assertThat(docker.out("volume", "create", "--label", "team=blue", "data")).isEqualTo("data");
    docker.out("volume", "create", "other");
    String unnamed = docker.out("volume", "create");
    assertThat(unnamed).matches("[0-9a-f]{64}");
    assertThat(docker.out("volume", "ls", "-q", "--filter", "label=team=blue")).isEqualTo("data");
    assertThat(inspect("volume", "data").at("Labels").at("team").string()).contains("blue");
    docker.out("run", "--rm", "-v", "data:/data", IMAGE, "sh", "-c", "echo kept > /data/file");
    assertThat(docker.out("run", "--rm", "-v", "data:/data", IMAGE, "cat", "/data/file"))
        .isEqualTo("kept");
    run("user", "-v", "data:/data");
    assertThat(docker.run("volume", "rm", "data").stderr()).contains("volume is in use");
    assertThat(docker.out("volume", "ls", "-q", "--filter", "dangling=true").lines())
        .containsExactlyInAnyOrder("other", unnamed);
    docker.out("rm", "-f", "user");
    assertThat(docker.run("volume", "create", "-o", "type=nfs", "x").stderr())
        .contains("DriverOpts.type is not supported");
    assertThat(docker.run("volume", "create", "-d", "nfs", "x").stderr()).contains("not found");
    assertThat(docker.run("volume", "inspect", "nope").stderr())
        .containsIgnoringCase("no such volume");
    assertThat(docker.out("volume", "prune", "-f", "--filter", "label!=team")).contains(unnamed);
    docker.out("volume", "rm", "data", "other");
    assertThat(docker.out("volume", "ls", "-q")).isEmpty();
  }
}
