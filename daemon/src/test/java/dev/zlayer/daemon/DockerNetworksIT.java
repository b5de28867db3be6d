package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.CommandResult;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Networks and volumes, as Docker's own command line handles them. */
@Timeout(120)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.DOCKERD})
class DockerNetworksIT {
  private static final String IMAGE = Node.IMAGE;
  private static DockerNode node;
  private static DockerCli docker;

  @BeforeAll
  static void open(@TempDir Path configuration) throws Exception {
    node = DockerNode.open(configuration);
    docker = node.docker();
  }

  @AfterAll
  static void close() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  @AfterEach
  void removeAll() throws Exception {
    node.clear();
  }

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

  /** As Docker does it: whoever is started first has the port, and until it is stopped. */
  @Test
  void portsAreTakenAtTheStartAndFreedAtTheStop() throws Exception {
    String port;
    try (var free = new java.net.ServerSocket(0)) {
      port = String.valueOf(free.getLocalPort());
    }
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
    assertThat(docker.out("ps", "-aq").lines()).hasSize(2);

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
