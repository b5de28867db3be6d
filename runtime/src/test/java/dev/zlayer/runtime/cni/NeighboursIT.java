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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Containers on one bridge, one of which sends forged frames. */
@Requires({Fact.ROOT, Fact.GCC})
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

    assertThat(seen(evil, taken, witness)).containsExactly("arp " + own);
    assertThat(seen(evil, text(witness.gateway().orElseThrow()), witness))
        .containsExactly("arp " + own);

    networks.close();
    networks = Networks.open(config);
    assertThat(seen(evil, taken, witness))
        .as("after a restart of the agent")
        .containsExactly("arp " + own);

    Processes.check(
        Command.of("nft", "delete", "table", "bridge", config.prefix()), Deadline.after(LIMIT));
    assertThat(seen(evil, taken, witness))
        .as("the attack works without the filter")
        .containsExactly("arp " + taken, "ip " + taken, "icmp6 134", "icmp6 137", "arp " + own);

    Attachment late = networks.attach("late", NetworkSpec.DEFAULT);
    assertThat(seen(evil, taken, witness))
        .as("the filter is restored for all with the next container")
        .containsExactly("arp " + own);
    assertThat(seen(late, taken, witness)).containsExactly("arp " + text(late.ip().orElseThrow()));
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
    assertThat(seen(second, text(first.ip().orElseThrow()), witness)).containsExactly("arp " + own);
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

  /** What the witness sees when the other one forges that address and then uses its own. */
  private List<String> seen(Attachment from, String forged, Attachment witness) throws Exception {
    String own = text(from.ip().orElseThrow());
    String sender =
        Inside.run(from, "ip", "-o", "link", "show", "eth0")
            .stdout()
            .replaceAll("(?s).*link/ether (\\S+) .*", "$1");
    Process listener =
        Processes.start(
            Command.of(
                "nsenter",
                "--net=" + witness.netns(),
                program.toString(),
                "listen",
                "eth0",
                own,
                sender));
    try (var lines = listener.inputReader()) {
      assertThat(lines.readLine()).isEqualTo("ready");
      assertThat(Inside.run(from, program.toString(), "forge", "eth0", forged, own).success())
          .isTrue();
      assertThat(listener.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
      assertThat(listener.exitValue()).as("the last frame arrived").isZero();
      return lines.lines().toList();
    } finally {
      listener.destroyForcibly();
    }
  }

  private static String text(InetAddress address) {
    return address.getHostAddress();
  }
}
