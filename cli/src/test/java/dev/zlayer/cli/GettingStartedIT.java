package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The file of the first page that a person reads, against a real daemon. */
@Timeout(240)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class GettingStartedIT {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern BLOCK = Pattern.compile("(?s)```(\\w*)\\n(.*?)```");
  private static final String PORT = "8080";

  @TempDir Path directory;
  private DaemonFixture daemon;
  private String port;

  @BeforeEach
  void startADaemonWithTheExamples() throws IOException {
    port = freePort();
    Files.createDirectories(directory.resolve("examples"));
    String name = "examples/quickstart.zlayer.yml";
    Files.writeString(
        directory.resolve(name), Files.readString(ROOT.resolve(name)).replace(PORT, port));
    daemon = DaemonFixture.start(directory).withBusybox("busybox:1.36");
  }

  @AfterEach
  void removeEverything() {
    if (daemon != null) {
      daemon.close();
    }
  }

  @Test
  void theFileOfTheReadmeDeploysAndItsJobRuns() throws IOException {
    String file = blocks("README.md", "yaml").getFirst().replace(PORT, port);
    Files.writeString(directory.resolve("hello.zlayer.yml"), file);

    CliFixture.Result up = daemon.cli().run("up", "hello.zlayer.yml");
    assertThat(up.code()).as(up.err()).isZero();
    assertThat(up.err()).contains("deployment 'hello' is ready");
    assertThat(daemon.ok("job", "run", "--wait", "hello/report")).contains("20");
    assertThat(daemon.ok("cron", "ls")).contains("hello/nightly");
  }

  private static List<String> blocks(String page, String language) throws IOException {
    List<String> found = new ArrayList<>();
    Matcher blocks = BLOCK.matcher(Files.readString(ROOT.resolve(page)));
    while (blocks.find()) {
      if (blocks.group(1).equals(language)) {
        found.add(blocks.group(2));
      }
    }
    return found;
  }

  private static String freePort() throws IOException {
    try (var socket = new ServerSocket(0)) {
      return Integer.toString(socket.getLocalPort());
    }
  }
}
