package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.NetworkSpec;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Containers on one bridge, one of which sends forged frames. */
@Requires({Fact.ROOT, Fact.GCC, Fact.BUSYBOX})
class NeighboursIT {
  private static final Duration LIMIT = Duration.ofSeconds(30);

  @TempDir Path directory;
  private Path program;
  private NetworkConfig config;
  private NetworkLeaks leaks;
  private Networks networks;

  @BeforeEach
  void open() throws Exception {
    Path source = directory.resolve("neighbour.c");
    try (var in = NeighboursIT.class.getResourceAsStream("neighbour.c")) {
      Files.write(source, Objects.requireNonNull(in).readAllBytes());
    }
    program = directory.resolve("neighbour");
    Processes.check(
        Command.of("gcc", "-static", "-o", program.toString(), source.toString()),
        Deadline.after(LIMIT));
    config = NetworkLeaks.config(directory).withPoolSize(0);
    leaks = new NetworkLeaks(config);
    networks = Networks.open(config);
  }

  @AfterEach
  void destroy() throws Exception {
    networks.close();
    leaks.destroy();
  }

  @Test
  void aContainerCannotTakeTheAddressOfAnother() throws Exception {
    Attachment evil = networks.attach("evil", NetworkSpec.DEFAULT);
    Attachment victim = networks.attach("victim", NetworkSpec.DEFAULT);
    Attachment witness = networks.attach("witness", NetworkSpec.DEFAULT);
    String own = text(evil.ip().orElseThrow());
    String taken = text(victim.ip().orElseThrow());
    String taken6 = linkLocal(victim);

    assertThat(seen(evil, taken, taken6, witness)).containsExactly("arp " + own);
    assertThat(seen(evil, text(witness.gateway().orElseThrow()), taken6, witness))
        .containsExactly("arp " + own);
    assertThat(reaches(witness, victim)).as("neighbours find each other by IPv6").isTrue();

    networks.close();
    networks = Networks.open(config);
    assertThat(seen(evil, taken, taken6, witness))
        .as("after a restart of the agent")
        .containsExactly("arp " + own);

    Processes.check(
        Command.of("nft", "delete", "table", "bridge", config.prefix()), Deadline.after(LIMIT));
    String own6 = linkLocal(evil);
    assertThat(seen(evil, taken, taken6, witness))
        .as("the attack works without the filter")
        .containsExactly(
            "arp " + taken,
            "ip " + taken,
            "icmp6 134",
            "icmp6 137",
            "icmp6 136 " + own6,
            "icmp6 136 " + taken6,
            "icmp6 135 ::",
            "arp " + taken,
            "icmp6 136 " + own6,
            "mac",
            "arp " + own);

    Attachment late = networks.attach("late", NetworkSpec.DEFAULT);
    assertThat(seen(evil, taken, taken6, witness))
        .as("the filter is restored for all with the next container")
        .containsExactly("arp " + own);
    assertThat(seen(late, taken, taken6, witness))
        .containsExactly("arp " + text(late.ip().orElseThrow()));
    assertThat(reaches(late, victim)).isTrue();
  }

  /** The address goes to another port: what the port that had it may send is forgotten. */
  @Test
  void anAddressBelongsToWhoeverHasItNow() throws Exception {
    Attachment first = networks.attach("first", NetworkSpec.DEFAULT);
    Attachment witness = networks.attach("witness", NetworkSpec.DEFAULT);
    networks.detach("first");
    networks.settle(Deadline.after(LIMIT));
    Attachment second = networks.attach("second", NetworkSpec.DEFAULT);
    String own = text(second.ip().orElseThrow());
    assertThat(seen(second, text(first.ip().orElseThrow()), linkLocal(witness), witness))
        .containsExactly("arp " + own);
    String pairs =
        Processes.check(
                Command.of("nft", "list", "set", "bridge", config.prefix(), "owners"),
                Deadline.after(LIMIT))
            .stdout();
    assertThat(pairs).contains(own, text(witness.ip().orElseThrow()));
    assertThat(pairs.split(" \\. ", -1)).as(pairs).hasSize(4); // the type, and two pairs
  }

  @Test
  void noContainerIsARouterOfTheHost() throws Exception {
    Attachment _ = networks.attach("one", NetworkSpec.DEFAULT);
    String bridge = networks.networks().getFirst().bridge();
    for (String setting : List.of("accept_ra", "accept_redirects")) {
      assertThat(Path.of("/proc/sys/net/ipv6/conf", bridge, setting)).hasContent("0");
    }
  }

  /** What the witness sees when the other one forges these addresses and then uses its own. */
  private List<String> seen(Attachment from, String forged, String forged6, Attachment witness)
      throws Exception {
    String own = text(from.ip().orElseThrow());
    Process listener =
        Processes.start(
            Command.of(
                "nsenter",
                "--net=" + witness.netns(),
                program.toString(),
                "listen",
                "eth0",
                own,
                mac(from),
                forged6));
    try (var lines = listener.inputReader()) {
      assertThat(lines.readLine()).isEqualTo("ready");
      assertThat(
              Inside.run(
                      from,
                      program.toString(),
                      "forge",
                      "eth0",
                      forged,
                      own,
                      forged6,
                      linkLocal(from))
                  .success())
          .isTrue();
      assertThat(listener.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
      assertThat(listener.exitValue()).as("the last frame arrived").isZero();
      return lines.lines().toList();
    } finally {
      listener.destroyForcibly();
    }
  }

  private static String mac(Attachment of) throws Exception {
    return Inside.run(of, "ip", "-o", "link", "show", "eth0")
        .stdout()
        .replaceAll("(?s).*link/ether (\\S+) .*", "$1");
  }

  /** As the kernel has it, once it is settled. */
  private static String linkLocal(Attachment of) {
    return Awaitility.await()
        .atMost(LIMIT)
        .until(
            () ->
                Inside.run(of, "ip", "-6", "-o", "address", "show", "dev", "eth0", "-tentative")
                    .stdout()
                    .replaceAll("(?s).* inet6 (fe80:\\S+)/64 .*", "$1")
                    .strip(),
            text -> text.startsWith("fe80:"));
  }

  private static boolean reaches(Attachment from, Attachment to) throws Exception {
    return Inside.run(from, "busybox", "ping6", "-c", "1", "-W", "20", "-I", "eth0", linkLocal(to))
        .success();
  }

  private static String text(InetAddress address) {
    return address.getHostAddress();
  }
}
