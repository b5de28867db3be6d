package dev.zlayer.cli.command.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.cli.TerminalFixture;
import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.registry.LocalRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Deployments that follow their files, and services that follow their images. */
@Timeout(180)
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.DOCKER_REGISTRY
})
class WatchAndUpdateIT {
  private static final String IMAGE = "localhost/watch:1";

  @TempDir private static Path directory;
  private static DaemonFixture daemon;

  @BeforeAll
  static void start() {
    daemon = DaemonFixture.start(directory).withBusybox(IMAGE);
  }

  @AfterAll
  static void close() {
    daemon.close();
  }

  private static ConditionFactory soon() {
    return Awaitility.await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(100));
  }

  @Test
  void upFollowsItsFilesUntilInterrupted() throws Exception {
    Path base = directory.resolve("base.yml");
    Path over = directory.resolve("over.yml");
    Path env = directory.resolve("some.env");
    Files.writeString(
        base,
        """
        version: v1
        deployment: watched
        services:
          web:
            image: {name: "%s", pull_policy: never}
            network_mode: none
            stop_grace_period: 1s
            update: {min_healthy_time: 0s}
            command: [sleep, "1000"]
            env: {FROM_ENV: "${WORD}", FROM_OVER: none}
        """
            .formatted(IMAGE));
    Files.writeString(over, "services: {web: {env: {FROM_OVER: first}}}\n");
    Files.writeString(env, "WORD=one\n");
    var words =
        daemon.process(
            "up",
            "--watch",
            "-f",
            base.toString(),
            "-f",
            over.toString(),
            "--env-file",
            env.toString());
    try (var terminal = TerminalFixture.start(words, daemon.env())) {
      terminal.awaitText("waiting for changes");
      assertThat(variables()).contains("FROM_ENV=one").contains("FROM_OVER=first");

      Files.writeString(env, "WORD=two\n");
      soon().until(() -> variables().contains("FROM_ENV=two"));
      Files.writeString(over, "services: {web: {env: {FROM_OVER: [\n");
      terminal.awaitText("over.yml:");
      assertThat(variables()).contains("FROM_OVER=first");
      Files.writeString(over, "services: {web: {env: {FROM_OVER: second}}}\n");
      soon().until(() -> variables().contains("FROM_OVER=second"));
      String text = Files.readString(base);
      Files.writeString(base, text.replace("\"1000\"", "\"999\""));
      soon().until(() -> exec("cat", "/proc/1/cmdline").contains("999"));

      terminal.type("\u0003");
      assertThat(terminal.exitCode()).isZero();
    }
    assertThat(variables()).as("the deployment continues").contains("FROM_OVER=second");
    CliFixture.Result refused = daemon.cli().run("up", "--watch", "--dry-run", base.toString());
    assertThat(refused.code()).isEqualTo(2);
  }

  private static String variables() {
    return exec("env");
  }

  private static String exec(String... command) {
    var words = new java.util.ArrayList<>(java.util.List.of("exec", "watched/web"));
    words.addAll(java.util.List.of(command));
    return daemon.cli().run(words.toArray(String[]::new)).out();
  }

  @Test
  void aServiceFollowsItsImageAndReturnsFromABadOne() throws Exception {
    try (var registry = LocalRegistry.start()) {
      ImageRef web = registry.push(image("one", "sleep 1000"), "web:1");
      ImageRef other = registry.push(image("one", "sleep 1000"), "other:1");
      Path file = directory.resolve("auto.yml");
      String text =
          """
          version: v1
          deployment: auto
          services:
            web:
              image: {name: "%s", pull_policy: newer}
              network_mode: none
              stop_grace_period: 1s
              update: {min_healthy_time: 0s, auto_update: "@every 1s"}
            other:
              image: {name: "%s", pull_policy: newer}
              network_mode: none
              stop_grace_period: 1s
              update: {min_healthy_time: 0s}
          """
              .formatted(web.familiar(), other.familiar());
      Files.writeString(file, text.replace("newer", "if_not_present"));
      assertThat(daemon.cli().run("validate", file.toString()).out())
          .contains("services.web.update.auto_update: needs image.pull_policy: newer");
      Files.writeString(file, text);
      daemon.ok("up", file.toString());
      assertThat(version("web")).isEqualTo("one");
      soon().until(() -> daemon.ok("status", "auto").contains("last: up to date"));
      assertThat(daemon.ok("status", "auto")).contains("web: updates itself (@every 1s)");

      registry.push(image("two", "sleep 1000"), "other:1");
      registry.push(image("two", "sleep 1000"), "web:1");
      soon().until(() -> version("web").equals("two"));
      assertThat(version("other")).as("it does not follow its image").isEqualTo("one");
      soon().until(() -> settled(2));

      registry.push(image("bad", "exit 1"), "web:1");
      soon().until(() -> events().contains("service.rolled_back"));
      soon().until(() -> version("web").equals("two"));
      soon().until(() -> daemon.ok("status", "auto").contains("rolled back to 2"));
      long before = revision();
      soon().until(() -> daemon.ok("status", "auto").contains("last: up to date"));
      assertThat(revision()).as("the bad image is not tried again").isEqualTo(before);

      // a crash takes up the image that runs, not what its tag means by now
      daemon.ok("kill", "auto/web");
      soon().until(() -> version("web").equals("two"));

      registry.push(image("three", "sleep 1000"), "web:1");
      soon().until(() -> version("web").equals("three"));
      assertThat(events()).contains("service.update_found");
      daemon.ok("down", "auto");
    }
  }

  private static MadeImage image(String version, String script) {
    return ImageMaker.busybox().env("VERSION", version).cmd("sh", "-c", script).make();
  }

  private static String version(String service) {
    return daemon.cli().run("exec", "auto/" + service, "sh", "-c", "echo $VERSION").out().strip();
  }

  private static boolean settled(long revision) {
    Json status = daemon.json("status", "auto", "--json");
    return status.at("state").string().equals(java.util.Optional.of("running"))
        && revision() == revision;
  }

  private static long revision() {
    return daemon.json("status", "auto", "--json").at("revision").integer().orElse(0L);
  }

  private static String events() {
    return daemon.ok("events", "--json");
  }
}
