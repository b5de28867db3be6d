package dev.zlayer.cli.command.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The examples that need nothing but busybox, run as a reader would. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class ExamplesIT {
  private static final Path EXAMPLES = Path.of("..", "examples");

  @TempDir static Path directory;
  private static DaemonFixture daemon;

  @BeforeAll
  static void startADaemon() {
    daemon = DaemonFixture.start(directory).withBusybox("busybox:1.36");
  }

  @AfterAll
  static void removeEverything() {
    if (daemon != null) {
      daemon.close();
    }
  }

  /** Endpoints get ports of the host that are free, so that tests can run side by side. */
  private static void copy(String name, String... replaced) throws IOException {
    String text = Files.readString(EXAMPLES.resolve(name));
    for (int i = 0; i < replaced.length; i += 2) {
      assertThat(text).contains(replaced[i]);
      text = text.replace(replaced[i], replaced[i + 1]);
    }
    Files.writeString(directory.resolve(name), text);
  }

  @Test
  void initStepsWaitForServicesOfTheirDeployment() throws Exception {
    copy("init-steps.zlayer.yml");

    CliFixture.Result up = daemon.cli().run("up", "init-steps.zlayer.yml");

    try {
      assertThat(up.code()).as(up.out() + up.err()).isZero();
      assertThat(up.err()).contains("'init-steps' is ready");
      assertThat(daemon.ok("exec", "init-steps/app/1", "wget", "-qO-", "http://127.0.0.1:8080/"))
          .isEqualTo("welcome\n");
      assertThat(daemon.ok("events")).contains("replica.init_step");
    } finally {
      daemon.cli().run("down", "init-steps", "--volumes");
    }
  }

  @Test
  void everyOtherExampleIsApplied() throws Exception {
    List<String> names;
    try (Stream<Path> files = Files.list(EXAMPLES)) {
      names = files.map(file -> file.getFileName().toString()).sorted().toList();
    }
    int applied = 0;
    for (String name : names) {
      String text = Files.readString(EXAMPLES.resolve(name));
      Matcher reason = Pattern.compile("(?m)^# Not run by the tests: (.*)$").matcher(text);
      if (reason.find()) {
        System.out.printf("not run: examples/%s: %s%n", name, reason.group(1));
        continue;
      }
      copy(name);
      Path file = directory.resolve(name);
      Files.writeString(file, text.replace("8080", freePort()).replace("9000", freePort()));
      CliFixture.Result up = daemon.cli().run("up", name);
      try {
        assertThat(up.code()).as(name + "\n" + up.out() + up.err()).isZero();
        applied++;
      } finally {
        daemon.cli().run("down", name.replace(".zlayer.yml", ""), "--volumes");
      }
    }
    assertThat(applied).isGreaterThan(4);
  }

  private static String freePort() throws IOException {
    try (var socket = new ServerSocket(0)) {
      return Integer.toString(socket.getLocalPort());
    }
  }
}
