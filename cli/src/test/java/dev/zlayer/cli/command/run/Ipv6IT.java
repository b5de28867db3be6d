package dev.zlayer.cli.command.run;

import static dev.zlayer.cli.HostNamespace.CLIENT;
import static dev.zlayer.cli.HostNamespace.CLIENT_IPV4;
import static dev.zlayer.cli.HostNamespace.HOST;
import static dev.zlayer.cli.HostNamespace.HOST_IPV4;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.cli.DatagramEcho;
import dev.zlayer.cli.HostNamespace;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Networks with two stacks: a real daemon on a host of its own, and a client of that host. */
@Timeout(240)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class Ipv6IT {
  /** A server that answers with the address of whoever asks. */
  private static final String SERVER =
      "mkdir -p /www/cgi-bin; printf '#!/bin/sh\\necho; echo $REMOTE_ADDR\\n' > /www/cgi-bin/who;"
          + " chmod +x /www/cgi-bin/who; exec httpd -f -p 80 -h /www";

  @TempDir static Path directory;
  private static HostNamespace host;
  private static DaemonFixture daemon;
  private static CliFixture cli;

  @BeforeAll
  static void startADaemon() {
    host = new HostNamespace();
    daemon =
        DaemonFixture.start(directory, host, Map.of("ZLAYER_NETWORK_IPV6", "true"))
            .withBusybox("bb:1");
    cli = daemon.cli();
  }

  @AfterAll
  static void removeEverything() {
    try {
      if (daemon != null) {
        daemon.close();
      }
    } finally {
      host.close();
    }
  }

  @AfterEach
  void removeContainers() {
    cli.run("down", "demo", "--volumes");
    daemon.ok("ps", "--all", "--quiet").lines().forEach(id -> cli.run("rm", "-f", id));
    cli.run("network", "rm", "six");
    cli.run("network", "rm", "other");
  }

  private static String ok(String... arguments) {
    return daemon.ok(arguments);
  }

  private static void serve(String name, String network, String... flags) {
    var words = new ArrayList<>(List.of("run", "-d", "--name", name));
    words.addAll(List.of("--network", network));
    words.addAll(List.of(flags));
    words.addAll(List.of("bb:1", "sh", "-c", SERVER));
    ok(words.toArray(String[]::new));
  }

  private static String[] get(String address, int port) {
    String line =
        "printf 'GET /cgi-bin/who HTTP/1.0\\r\\n\\r\\n' | timeout 5 busybox nc -w 3 %s %d | tail -1 | tr -d [] | grep ."
            .formatted(address, port);
    return new String[] {"sh", "-c", line};
  }

  /** What the server says, once it listens. */
  private static String answer(Supplier<CommandResult> question) {
    return Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .until(question::get, CommandResult::success)
        .stdout()
        .strip();
  }

  private static String ipv6(String container) {
    return daemon.json("inspect", container).at("container").at("ipv6").string().orElseThrow();
  }

  @Test
  void aClientReachesAPublishedPortAndKeepsItsAddress() {
    ok("network", "create", "--ipv6", "six");
    serve("web", "six", "-p", "8080:80");

    assertThat(answer(() -> host.onClient(get(HOST, 8080)))).isEqualTo(CLIENT);
    assertThat(answer(() -> host.onClient(get(HOST_IPV4, 8080)))).contains(CLIENT_IPV4);
    assertThat(answer(() -> host.onHost(get(HOST, 8080)))).isEqualTo(HOST);
    assertThat(answer(() -> host.onHost(get("::1", 8080)))).as("by way of the agent").isNotEmpty();
    assertThat(ok("ps")).contains("8080->80/tcp, [::]:8080->80/tcp");
    assertThat(ok("port", "web", "80")).isEqualTo("0.0.0.0:8080\n[::]:8080\n");

    daemon.kill();
    assertThat(answer(() -> host.onClient(get(HOST, 8080))))
        .as("the rules are the kernel's")
        .isEqualTo(CLIENT);
    daemon.restart();
    assertThat(answer(() -> host.onClient(get(HOST, 8080)))).isEqualTo(CLIENT);
    assertThat(answer(() -> host.onHost(get("::1", 8080)))).isNotEmpty();

    ok("rm", "-f", "web");
    assertThat(host.onClient(get(HOST, 8080)).success()).isFalse();
    assertThat(host.onHost("nft", "list", "ruleset").stdout())
        .contains("table ip6 " + daemon.prefix())
        .doesNotContain("8080");
  }

  @Test
  void oneIpv6AddressOfTheHostIsPublished() {
    ok("network", "create", "--ipv6", "six");
    serve("web", "six", "-p", "[::1]:8081:80", "-p", "[" + HOST + "]:8082:80");

    assertThat(answer(() -> host.onHost(get("::1", 8081)))).isNotEmpty();
    assertThat(answer(() -> host.onClient(get(HOST, 8082)))).isEqualTo(CLIENT);
    assertThat(host.onClient(get(HOST, 8081)).success()).isFalse();
    assertThat(host.onClient(get(HOST_IPV4, 8082)).success()).isFalse();
    assertThat(ok("ps")).contains("[::1]:8081->80/tcp").contains("[" + HOST + "]:8082->80/tcp");
    CliFixture.Result taken =
        cli.run("run", "-d", "--network", "six", "-p", "[::1]:8081:80", "bb:1", "true");
    assertThat(taken.code()).isNotZero();
    assertThat(taken.err()).contains("port 8081/tcp is already published by 'web");
  }

  @Test
  void containersFindEachOtherAndNobodyElseDoes() {
    ok("network", "create", "--ipv6", "--subnet", "fd00:51:52:53::/64", "six");
    ok("network", "create", "--ipv6", "other");
    serve("web", "six");
    ok("run", "-d", "--name", "near", "--network", "six", "bb:1", "sleep", "1000");
    ok("run", "-d", "--name", "far", "--network", "other", "bb:1", "sleep", "1000");
    ok(
        "run",
        "-d",
        "--name",
        "liar",
        "--network",
        "six",
        "--cap-add",
        "NET_ADMIN",
        "bb:1",
        "sleep",
        "1000");
    String web = ipv6("web");
    assertThat(web).startsWith("fd00:51:52:53::");

    assertThat(ok("exec", "near", "nslookup", "-type=aaaa", "web")).contains("Address: " + web);
    assertThat(answer(() -> inside("near", web))).isEqualTo(ipv6("near"));
    assertThat(ok("exec", "near", "ping", "-6", "-c", "1", "-w", "10", "web")).contains(web);
    assertThat(cli.run("exec", "liar", "ping", "-6", "-c", "1", "-w", "5", web).code()).isZero();
    ok("exec", "liar", "ip", "-6", "addr", "add", "fd00:51:52:53::99/64", "dev", "eth0");
    assertThat(
            cli.run(
                    "exec",
                    "liar",
                    "ping",
                    "-6",
                    "-I",
                    "fd00:51:52:53::99",
                    "-c",
                    "1",
                    "-w",
                    "2",
                    web)
                .code())
        .as("from an address that it gave itself")
        .isNotZero();
    assertThat(inside("far", web).success()).as("another network").isFalse();
    host.routeClient("fd00:51:52:53::/64");
    assertThat(host.onClient(get(web, 80)).success())
        .as("a route to its address is not enough")
        .isFalse();
    assertThat(ok("exec", "far", "ping", "-6", "-c", "1", "-w", "10", CLIENT))
        .as("out of the network, with the address of the host")
        .contains("1 packets received");

    Json six = daemon.json("network", "inspect", "six");
    assertThat(six.at("subnet_ipv6").string()).contains("fd00:51:52:53::/64");
    assertThat(six.at("gateway_ipv6").string()).contains("fd00:51:52:53::1");
    assertThat(six.at("containers").items())
        .anySatisfy(one -> assertThat(one.at("ipv6").string()).contains(web));
    assertThat(ok("network", "ls")).contains(", fd00:51:52:53::/64");
    Json other = daemon.json("network", "inspect", "other");
    assertThat(other.at("subnet_ipv6").string().orElseThrow())
        .matches("fd[0-9a-f]{2}:[0-9a-f]{1,4}:[0-9a-f]{1,4}:[0-9a-f]{1,4}::/64");
  }

  private static CommandResult inside(String container, String address) {
    String[] words = get(address, 80);
    CliFixture.Result result =
        cli.run("exec", container, words[0], words[1], words[2].replace("busybox nc", "nc"));
    return new CommandResult(result.code(), result.out().getBytes(UTF_8), new byte[0]);
  }

  @Test
  void anEndpointOfAServiceAnswersOverIpv6() throws Exception {
    Files.writeString(
        directory.resolve("demo.zlayer.yml"),
        """
        version: v1
        deployment: demo
        services:
          web:
            image: {name: "bb:1"}
            stop_signal: SIGKILL
            command: [sh, -c, "%s"]
            scale: {mode: fixed, replicas: 2}
            endpoints: [{name: http, protocol: http, port: 8090, target_port: 80, expose: public}]
          asking:
            image: {name: "bb:1"}
            stop_signal: SIGKILL
            command: [sleep, "1000"]
        """
            .formatted(SERVER.replace("\\", "\\\\").replace("\"", "\\\"")));
    ok("up", "--quiet");

    assertThat(answer(() -> host.onClient(get(HOST, 8090)))).isEqualTo(CLIENT);
    assertThat(answer(() -> host.onHost(get("::1", 8090)))).isNotEmpty();
    assertThat(ok("exec", "demo/asking", "nslookup", "-type=aaaa", "web.demo.zlayer.internal"))
        .contains("Address: " + ipv6("demo/web/1"))
        .contains("Address: " + ipv6("demo/web/2"));

    daemon.kill();
    for (int i = 0; i < 4; i++) {
      assertThat(answer(() -> host.onClient(get(HOST, 8090)))).isEqualTo(CLIENT);
    }
    daemon.restart();
    Path file = directory.resolve("demo.zlayer.yml");
    Files.writeString(file, Files.readString(file).replace("replicas: 2", "replicas: 1"));
    ok("up", "--quiet");
    assertThat(answer(() -> host.onClient(get(HOST, 8090)))).isEqualTo(CLIENT);
    ok("down", "demo");
    assertThat(host.onClient(get(HOST, 8090)).success()).isFalse();
    assertThat(host.onHost("nft", "list", "ruleset").stdout()).doesNotContain("8090");
  }

  @Test
  void aHostWithoutIpv6RefusesItAndKeepsWorking() {
    host.onHost("sysctl", "-q", "-w", "net.ipv6.conf.default.disable_ipv6=1");
    try {
      CliFixture.Result refused = cli.run("network", "create", "--ipv6", "six");
      assertThat(refused.code()).isNotZero();
      assertThat(refused.err())
          .contains("network 'six': it cannot have IPv6 addresses: IPv6 is disabled on this host")
          .contains("net.ipv6.conf.default.disable_ipv6");
      ok("network", "create", "six");
      serve("web", "six", "-p", "8083:80");
      assertThat(answer(() -> host.onClient(get(HOST_IPV4, 8083)))).contains(CLIENT_IPV4);
      CliFixture.Result address =
          cli.run("run", "-d", "--network", "six", "-p", "[::1]:8084:80", "bb:1", "true");
      assertThat(address.err())
          .contains("publishing on ::1: the container's network has no IPv6 addresses");
      ok("rm", "-f", "web");

      serve("web", "default", "-p", "8085:80");
      assertThat(answer(() -> host.onClient(get(HOST_IPV4, 8085))))
          .as("a network that had IPv6 before")
          .contains(CLIENT_IPV4);
      assertThat(ok("info")).contains("containers get no IPv6 addresses: IPv6 is disabled");
    } finally {
      host.onHost("sysctl", "-q", "-w", "net.ipv6.conf.default.disable_ipv6=0");
    }
  }

  /** What the kernel forwards nowhere is copied by the agent, for containers and endpoints. */
  @Test
  void whatIsSentToLocalAddressesArrives() throws Exception {
    ok("network", "create", "--ipv6", "six");
    serve("echo", "six", "-p", "8086:7/udp", "-p", "[::1]:8087:7/udp", "-p", "8088:80");
    Files.writeString(
        directory.resolve("demo.zlayer.yml"),
        """
        version: v1
        deployment: demo
        services:
          echo:
            image: {name: "bb:1"}
            stop_signal: SIGKILL
            command: [sleep, "1000"]
            endpoints: [{name: echo, protocol: udp, port: 8091, target_port: 7, expose: public}]
        """);
    ok("up", "--quiet");
    String link =
        host.onHost("ip", "-6", "-br", "addr", "show", "dev", "up0", "scope", "link")
            .stdout()
            .replaceFirst("(?s).*(fe80:[0-9a-f:]+)/.*", "$1");
    Process single = echo("echo");
    Process service = echo("demo/echo/1");
    try {
      assertThat(answer(() -> host.onClient(datagram(HOST, 8086)))).isEqualTo("hello");
      assertThat(answer(() -> host.onHost(datagram("::1", 8086)))).isEqualTo("hello");
      assertThat(answer(() -> host.onHost(datagram("::1", 8087)))).isEqualTo("hello");
      assertThat(answer(() -> host.onHost(datagram("::1", 8091)))).isEqualTo("hello");
      assertThat(host.onClient(datagram(HOST, 8087)).success()).as("::1 alone").isFalse();

      assertThat(answer(() -> host.onClient(datagram(link + "%up0", 8086)))).isEqualTo("hello");
      assertThat(answer(() -> host.onClient(datagram(link + "%up0", 8091)))).isEqualTo("hello");
      assertThat(answer(() -> host.onClient(get(link + "%up0", 8088)))).isNotEmpty();
      assertThat(cli.run("run", "--network", "six", "-p", "[::1]:8087:7/udp", "bb:1").err())
          .contains("port 8087/udp is already published by 'echo");
      daemon.kill();
      daemon.restart();
      assertThat(answer(() -> host.onHost(datagram("::1", 8087)))).isEqualTo("hello");
      ok("rm", "-f", "echo");
      assertThat(host.onHost(datagram("::1", 8087)).success()).isFalse();
    } finally {
      single.destroyForcibly();
      service.destroyForcibly();
    }
  }

  /** Sends datagrams back in the network of a container. */
  private static Process echo(String container) {
    long pid = daemon.json("inspect", container).at("container").at("pid").integer().orElseThrow();
    return Processes.start(
        Command.of(
            "nsenter",
            "--net=/proc/%d/ns/net".formatted(pid),
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            DatagramEcho.class.getName(),
            "7"));
  }

  private static String[] datagram(String address, int port) {
    String line =
        "exec 3<>\"/dev/udp/%s/%d\"; printf hello >&3; head -c 5 <&3 | grep ."
            .formatted(address, port);
    return new String[] {"timeout", "3", "bash", "-c", line};
  }

  @Test
  void besideAFirewallThatDropsIpv6PortsAndEgressWork() {
    host.onHost("ip6tables", "-P", "FORWARD", "DROP");
    try {
      ok("network", "create", "--ipv6", "six");
      serve("web", "six", "-p", "8092:80");

      assertThat(answer(() -> host.onClient(get(HOST, 8092)))).isEqualTo(CLIENT);
      assertThat(ok("exec", "web", "ping", "-6", "-c", "1", "-w", "10", CLIENT))
          .contains("1 packets received");
      assertOurBridgesAreAccepted();
      host.onHost("ip6tables", "-F", "FORWARD"); // the agent puts back what somebody removed
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .untilAsserted(Ipv6IT::assertOurBridgesAreAccepted);
      assertThat(ok("info")).doesNotContain("ip6tables");
    } finally {
      host.onHost("ip6tables", "-P", "FORWARD", "ACCEPT");
      host.onHost("ip6tables", "-F", "FORWARD");
    }
  }

  private static void assertOurBridgesAreAccepted() {
    assertThat(host.onHost("ip6tables", "-S", "FORWARD").stdout())
        .contains("-i " + daemon.prefix() + "+ -j ACCEPT")
        .contains("-o " + daemon.prefix() + "+ -j ACCEPT");
  }

  /** Docker's own command line, against our socket. */
  @Test
  @Requires(Fact.DOCKERD)
  void clientsOfDockerCreateNetworksWithIpv6() {
    docker("network", "create", "--ipv6", "--subnet", "fd00:71:72:73::/64", "six");
    docker("run", "-d", "--name", "web", "--network", "six", "bb:1", "sleep", "1000");

    Json network = JsonText.parse(docker("network", "inspect", "six")).items().getFirst();
    assertThat(network.at("EnableIPv6").bool()).contains(true);
    assertThat(network.at("IPAM").at("Config").items())
        .anySatisfy(one -> assertThat(one.at("Subnet").string()).contains("fd00:71:72:73::/64"));
    Json web =
        JsonText.parse(docker("inspect", "web"))
            .items()
            .getFirst()
            .at("NetworkSettings")
            .at("Networks")
            .at("six");
    assertThat(web.at("GlobalIPv6Address").string()).contains(ipv6("web"));
    assertThat(web.at("GlobalIPv6PrefixLen").integer()).contains(64L);
    assertThat(web.at("IPv6Gateway").string()).contains("fd00:71:72:73::1");
    assertThat(ipv6("web")).startsWith("fd00:71:72:73::");
    docker("rm", "-f", "web");
    docker("network", "rm", "six");
  }

  private static String docker(String... words) {
    var command = new ArrayList<>(List.of("docker"));
    command.addAll(List.of(words));
    String socket = "unix://" + daemon.dataDirectory().resolve("run/docker.sock");
    try {
      CommandResult result =
          Processes.run(
              Command.of(command)
                  .withEnv(Map.of("DOCKER_HOST", socket, "HOME", directory.toString())),
              Deadline.after(Duration.ofSeconds(30)));
      assertThat(result.code()).as(words[0] + ": " + result.stderr()).isZero();
      return result.stdout();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void subnetsAreChecked() {
    assertThat(cli.run("network", "create", "--subnet", "fd00:1::/64", "six").err())
        .contains("subnet fd00:1::/64 needs IPv6; add --ipv6");
    assertThat(cli.run("network", "create", "--ipv6", "--subnet", "fd00:1::1/64", "six").err())
        .contains("bits are set behind the prefix");
    assertThat(cli.run("network", "create", "--ipv6", "--subnet", "fd00:aa::/64", "six").err())
        .contains("subnet fd00:aa::/64 overlaps fd00:aa::/64, which this host uses already");
    assertThat(
            cli.run(
                    "network",
                    "create",
                    "--ipv6",
                    "--subnet",
                    "fd00:1::/64",
                    "--subnet",
                    "fd00:2::/64",
                    "six")
                .err())
        .contains("a network has one IPv6 subnet");
  }
}
