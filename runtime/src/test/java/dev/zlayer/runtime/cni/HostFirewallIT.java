package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two network namespaces, one the host of an agent and one its neighbour, and foreign rules. */
@Requires({Fact.ROOT, Fact.CNI, Fact.BUSYBOX})
class HostFirewallIT {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** For an answer that comes: on a busy machine it comes late. */
  private static final int ANSWER_SECONDS = 30;

  private static final String HOST_IP = "192.0.2.1";
  private static final String NEIGHBOUR_IP = "192.0.2.2";

  @TempDir Path directory;
  private NetworkConfig config;
  private String host;
  private String neighbour;
  private final List<Process> processes = new ArrayList<>();
  private Process agent;
  private String container;
  private String containerIp;

  @BeforeEach
  void connect() throws Exception {
    config = NetworkLeaks.config(directory);
    host = config.prefix() + "h";
    neighbour = config.prefix() + "n";
    String cable = "x" + config.prefix();
    run("ip", "netns", "add", host);
    run("ip", "netns", "add", neighbour);
    run(
        "ip", "link", "add", cable, "netns", host, "type", "veth", "peer", "name", "eth0", "netns",
        neighbour);
    in(host, "ip addr add " + HOST_IP + "/24 dev " + cable);
    in(host, "ip link set " + cable + " up");
    in(host, "ip link set lo up");
    in(neighbour, "ip addr add " + NEIGHBOUR_IP + "/24 dev eth0");
    in(neighbour, "ip link set eth0 up");
    in(neighbour, "ip link set lo up");
    serve("/run/netns/" + neighbour, 9000, "outside");
  }

  @AfterEach
  void disconnect() throws Exception {
    if (agent != null) {
      agent.outputWriter().close();
      if (!agent.waitFor(LIMIT)) {
        agent.destroyForcibly();
      }
    }
    for (Process process : processes) {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
    for (String name : List.of(host, neighbour)) {
      Processes.run(Command.of("ip", "netns", "delete", name), Deadline.after(LIMIT));
    }
    new NetworkLeaks(config).destroy();
  }

  @Test
  void aNeighbourWithARouteReachesWhatIsPublishedAndNothingElse() throws Exception {
    start();
    in(neighbour, "ip route add " + config.subnets() + " via " + HOST_IP);

    assertThat(ask(neighbour, HOST_IP, 8080)).isEqualTo("public");
    assertThat(ask(host, "127.0.0.1", 8081)).isEqualTo("private");
    assertThat(silent(neighbour, containerIp, 81)).as("published on loopback only").isTrue();
    assertThat(silent(neighbour, containerIp, 80)).as("past the published port").isTrue();
    assertThat(silent(neighbour, HOST_IP, 8081)).isTrue();
    assertThat(problems()).isEqualTo("[]");
  }

  @Test
  void besideDockerPortsAndEgressWork() throws Exception {
    in(host, "iptables -P FORWARD DROP");
    in(host, "iptables -N DOCKER-USER");
    in(host, "iptables -A FORWARD -j DOCKER-USER");
    in(host, "iptables -N DOCKER-FORWARD");
    in(host, "iptables -A FORWARD -j DOCKER-FORWARD");
    in(host, "iptables -A DOCKER-FORWARD -i docker0 -j ACCEPT");
    in(host, "iptables -A DOCKER-USER -j RETURN");
    start();

    assertOpen();
    in(host, "iptables -F FORWARD");
    assertThat(problems())
        .contains("'iptables -I FORWARD -i " + config.prefix() + "+ -j ACCEPT'")
        .doesNotContain("ip6tables");
    in(host, "ip6tables -P FORWARD DROP");
    assertThat(problems("ipv6"))
        .contains("'ip6tables -I FORWARD -i " + config.prefix() + "+ -j ACCEPT'");
  }

  @Test
  void besideUfwPortsAndEgressWork() throws Exception {
    in(host, "iptables -P INPUT DROP");
    in(host, "iptables -P FORWARD DROP");
    for (String chain : List.of("input", "forward")) {
      in(host, "iptables -N ufw-before-" + chain);
      in(
          host,
          "iptables -A " + chain.toUpperCase(java.util.Locale.ROOT) + " -j ufw-before-" + chain);
      in(
          host,
          "iptables -A ufw-before-"
              + chain
              + " -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT");
    }
    in(host, "iptables -A ufw-before-input -i lo -j ACCEPT");
    start();

    assertOpen();
    assertThat(in(host, "iptables -S INPUT"))
        .contains("-i " + config.prefix() + "+ -m conntrack --ctstate DNAT -j ACCEPT");
  }

  @Test
  void besideFirewalldItSaysWhatToDo() throws Exception {
    nft(
        """
        table inet firewalld {
          chain filter_FORWARD {
            type filter hook forward priority filter + 10; policy accept;
            ct state { established, related } accept
            ct status dnat accept
            iifname "lo" accept
            jump filter_FORWARD_ZONES
            reject with icmpx type admin-prohibited
          }
          chain filter_FORWARD_ZONES {
          }
        }
        """);
    start();

    assertThat(ask(neighbour, HOST_IP, 8080)).isEqualTo("public");
    assertThat(asked(container, NEIGHBOUR_IP, 9000, 3)).isEmpty();
    assertThat(problems())
        .contains("firewall-cmd --permanent --zone=trusted --add-source=" + config.subnets());

    nft(
        "add rule inet firewalld filter_FORWARD_ZONES ip saddr %s accept"
            .formatted(config.subnets()));
    assertOpen();
  }

  @Test
  void besideRulesOfNftablesItSaysWhatToDo() throws Exception {
    nft(
        """
        table inet mine {
          chain forward {
            type filter hook forward priority filter; policy drop;
            ct state established,related accept
          }
        }
        """);
    start();

    assertThat(silent(neighbour, HOST_IP, 8080)).isTrue();
    assertThat(problems())
        .contains("nft insert rule inet mine forward iifname \"" + config.prefix() + "*\" accept");

    nft("insert rule inet mine forward iifname \"" + config.prefix() + "*\" accept");
    nft("insert rule inet mine forward oifname \"" + config.prefix() + "*\" accept");
    assertOpen();
  }

  private void assertOpen() throws Exception {
    assertThat(ask(neighbour, HOST_IP, 8080)).isEqualTo("public");
    assertThat(askInside(NEIGHBOUR_IP, 9000)).isEqualTo("outside");
    assertThat(problems()).isEqualTo("[]");
  }

  private void start() throws Exception {
    agent =
        Processes.start(
            Command.of(
                "nsenter",
                "--net=/run/netns/" + host,
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                HostAgent.class.getName(),
                directory.resolve("run").toString(),
                directory.resolve("state").toString(),
                config.prefix(),
                config.subnets().toString()));
    processes.add(agent);
    String line = agent.inputReader().readLine();
    if (line == null) {
      throw new IOException(
          new String(agent.getErrorStream().readAllBytes(), StandardCharsets.UTF_8));
    }
    container = line.split(" ")[0];
    containerIp = line.split(" ")[1];
    serve(container, 80, "public");
    serve(container, 81, "private");
  }

  private String problems() throws IOException {
    return problems("");
  }

  private String problems(String which) throws IOException {
    agent.outputWriter().write(which + "\n");
    agent.outputWriter().flush();
    return String.valueOf(agent.inputReader().readLine());
  }

  /** Answers each connection with one line; returns when it does. */
  private void serve(String namespace, int port, String answer) throws Exception {
    processes.add(
        Processes.start(
            Command.of(
                "nsenter",
                "--net=" + namespace,
                "busybox",
                "nc",
                "-ll",
                "-p",
                Integer.toString(port),
                "-e",
                "/bin/echo",
                answer)));
    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> asked(namespace, "127.0.0.1", port, 3).equals(answer));
  }

  private String askInside(String address, int port) throws InterruptedException {
    return asked(container, address, port, ANSWER_SECONDS);
  }

  private static String ask(String namespace, String address, int port)
      throws InterruptedException {
    return asked("/run/netns/" + namespace, address, port, ANSWER_SECONDS);
  }

  /** Whether nobody answers; does not wait long where packets are dropped. */
  private static boolean silent(String namespace, String address, int port)
      throws InterruptedException {
    return asked("/run/netns/" + namespace, address, port, 3).isEmpty();
  }

  /** Empty when nobody answers in that time. */
  private static String asked(String namespace, String address, int port, int seconds)
      throws InterruptedException {
    return Processes.run(
            Command.of(
                "nsenter",
                "--net=" + namespace,
                "timeout",
                Integer.toString(seconds),
                "busybox",
                "nc",
                "-w",
                Integer.toString(seconds),
                address,
                Integer.toString(port)),
            Deadline.after(LIMIT))
        .stdout()
        .strip();
  }

  private void nft(String script) throws InterruptedException {
    CommandResult result =
        Processes.run(
            Command.of("nsenter", "--net=/run/netns/" + host, "nft", "-f", "-")
                .withInput((script + "\n").getBytes(StandardCharsets.UTF_8)),
            Deadline.after(LIMIT));
    assertThat(result.success()).as(result.stderr()).isTrue();
  }

  private static String in(String namespace, String command) throws InterruptedException {
    var words = new ArrayList<>(List.of("nsenter", "--net=/run/netns/" + namespace));
    words.addAll(List.of(command.split(" ")));
    return run(words.toArray(String[]::new));
  }

  private static String run(String... command) throws InterruptedException {
    CommandResult result = Processes.run(Command.of(command), Deadline.after(LIMIT));
    assertThat(result.success()).as(String.join(" ", command) + ": " + result.stderr()).isTrue();
    return result.stdout();
  }
}
