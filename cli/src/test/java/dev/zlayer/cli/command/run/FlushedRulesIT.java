package dev.zlayer.cli.command.run;

import static dev.zlayer.cli.HostNamespace.HOST_IPV4;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.cli.HostNamespace;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Somebody restarts the host's firewall, and with it removes the rules of everybody else. */
@Timeout(240)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class FlushedRulesIT {
  @TempDir Path directory;
  private final HostNamespace host = new HostNamespace();
  private DaemonFixture daemon;
  private String published;
  private String elsewhere;

  @AfterEach
  void removeEverything() {
    try {
      if (daemon != null) {
        daemon.close();
      }
    } finally {
      host.close();
    }
  }

  @Test
  void whatIsPrivateAndWhatIsPublishedIsSoAgain() {
    // as Docker and ufw set it up; a reload of theirs removes what we inserted there
    assertThat(host.onHost("iptables", "-P", "FORWARD", "DROP").success()).isTrue();
    daemon = DaemonFixture.start(directory, host, Map.of()).withBusybox("bb:1");
    daemon.ok("network", "create", "other");
    serve("web", "--publish", "8080:80", "--publish", "127.0.0.1:8081:80");
    serve("apart", "--network", "other");
    published = address("web");
    elsewhere = address("apart");
    CommandResult routed = host.onClient("ip", "route", "add", published + "/32", "via", HOST_IPV4);
    assertThat(routed.success()).as(routed.stderr()).isTrue();
    soon().untilAsserted(this::assertClosedAndOpen);

    for (List<String> removal :
        List.of(
            List.of("iptables", "-F", "FORWARD"),
            List.of("nft", "flush", "ruleset"),
            List.of("nft", "flush", "chain", "ip", table(), "forward"),
            List.of("nft", "delete", "table", "ip", table() + "_endpoints"))) {
      CommandResult removed = host.onHost(removal.toArray(String[]::new));
      assertThat(removed.success()).as(removal + ": " + removed.stderr()).isTrue();
      soon()
          .alias(removal.toString())
          .untilAsserted(
              () -> {
                assertThat(tables())
                    .contains("ip " + table(), "bridge " + table(), "ip " + table() + "_endpoints");
                assertClosedAndOpen();
              });
    }
    // all of ours, the rules of networks, those of endpoints; and nothing that was there
    soon().untilAsserted(() -> assertThat(restored()).isEqualTo(4));
  }

  private long restored() {
    try (var lines = Files.lines(daemon.dataDirectory().resolve("daemon.log"))) {
      return lines.filter(line -> line.contains("they are written anew")).count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void assertClosedAndOpen() {
    assertThat(connects(HOST_IPV4, 8080)).as("published").isTrue();
    assertThat(connects(published, 80)).as("a route to a container").isFalse();
    assertThat(
            daemon.cli().run("exec", "web", "nc", "-w", "1", elsewhere, "80", "-e", "true").code())
        .as("another network")
        .isNotZero();
  }

  private void serve(String name, String... options) {
    var words = new java.util.ArrayList<>(List.of("run", "-d", "--name", name));
    words.addAll(List.of(options));
    words.addAll(List.of("bb:1", "httpd", "-f"));
    daemon.ok(words.toArray(String[]::new));
  }

  private boolean connects(String address, int port) {
    return host.onClient("busybox", "nc", "-w", "1", address, Integer.toString(port), "-e", "true")
        .success();
  }

  private String address(String container) {
    return daemon.ok("exec", container, "hostname", "-i").strip();
  }

  private List<String> tables() {
    return host.onHost("nft", "list", "tables")
        .stdout()
        .lines()
        .map(line -> line.replace("table ", ""))
        .toList();
  }

  /** What the names of our tables and bridges begin with. */
  private String table() {
    return daemon.prefix();
  }

  private static ConditionFactory soon() {
    return Awaitility.await().atMost(Duration.ofSeconds(60));
  }
}
