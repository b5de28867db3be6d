package dev.zlayer.cli.command.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which daemon is started and which is stopped. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI})
class DaemonLifecycleIT {
  @TempDir Path directory;
  private final List<DaemonFixture> daemons = new ArrayList<>();

  @AfterEach
  void removeEverything() {
    daemons.forEach(DaemonFixture::close);
  }

  private DaemonFixture place(String name) throws Exception {
    var daemon = DaemonFixture.in(Files.createDirectories(directory.resolve(name)));
    daemons.add(daemon);
    return daemon;
  }

  private static CliFixture.Result with(
      DaemonFixture daemon, Map<String, String> more, String... arguments) {
    var env = new HashMap<>(daemon.env());
    env.putAll(more);
    return new CliFixture(daemon.directory(), env).run(arguments);
  }

  @Test
  void ofSeveralStartsAtOnceOneWinsAndAllSucceed() throws Exception {
    DaemonFixture daemon = place("a");
    var results = new ArrayList<TaskScope.Task<CliFixture.Result>>();
    try (var scope = new TaskScope("starts")) {
      for (int i = 0; i < 4; i++) {
        results.add(scope.fork(() -> daemon.cli().run("daemon", "start")));
      }
      scope.join();
    }
    assertThat(results)
        .allSatisfy(
            result -> assertThat(result.result().code()).as(result.result().err()).isZero());
    assertThat(daemon.cli().run("daemon", "status").code()).isZero();
    assertThat(daemon.json("config", "show", "--json").at("data_dir").at("source").string())
        .as("not a flag that nobody gave")
        .contains("variable ZLAYER_DATA_DIR");
  }

  @Test
  void ofSeveralUpsWithoutADaemonAllUseTheOneThatWon() throws Exception {
    DaemonFixture daemon = place("a");
    var results = new ArrayList<TaskScope.Task<CliFixture.Result>>();
    try (var scope = new TaskScope("ups")) {
      for (int i = 0; i < 3; i++) {
        Path file = daemon.directory().resolve("d%d.zlayer.yml".formatted(i));
        Files.writeString(
            file,
            """
            version: v1
            deployment: shop%d
            services:
              report:
                rtype: job
                image: {name: "localhost/never:1", pull_policy: never}
            """
                .formatted(i));
        results.add(scope.fork(() -> daemon.cli().run("up", file.toString())));
      }
      scope.join();
    }
    assertThat(results)
        .allSatisfy(
            result -> assertThat(result.result().code()).as(result.result().err()).isZero());
    CliFixture.Result status = daemon.cli().run("status", "--json");
    assertThat(status.out()).contains("\"shop0\"").contains("\"shop1\"").contains("\"shop2\"");
  }

  @Test
  void runStartsADaemonWhenThereIsNone() throws Exception {
    DaemonFixture daemon = place("a");
    CliFixture.Result run = daemon.cli().run("run", "--pull", "never", "nowhere/nothing:1");

    assertThat(run.err()).contains("starting a daemon").contains("nothing").doesNotContain("\tat ");
    assertThat(run.code()).isEqualTo(2);
    assertThat(daemon.cli().run("daemon", "status").code()).isZero();
  }

  @Test
  void stopStopsTheDaemonThatIsAddressedAndNoOther() throws Exception {
    DaemonFixture one = place("a");
    DaemonFixture other = place("b");
    one.restart();
    other.restart();
    String otherSocket = other.dataDirectory().resolve("run/zlayer.sock").toString();

    CliFixture.Result nobody = one.cli().run("daemon", "stop", "--socket", "/nope");
    CliFixture.Result remote =
        with(one, Map.of("ZLAYER_HOST", "tcp://127.0.0.1:1"), "daemon", "stop");

    assertThat(nobody.code()).isZero();
    assertThat(nobody.err()).isEqualTo("no daemon at unix:///nope\n");
    assertThat(remote.code()).isEqualTo(2);
    assertThat(one.cli().run("daemon", "status").code()).isZero();

    CliFixture.Result stopped = with(one, Map.of("ZLAYER_SOCKET", otherSocket), "daemon", "stop");
    assertThat(stopped.err()).isEqualTo("daemon stopped; containers keep running\n");
    assertThat(one.cli().run("daemon", "status").code()).isZero();
    assertThat(other.cli().run("daemon", "status").code()).isEqualTo(1);
  }
}
