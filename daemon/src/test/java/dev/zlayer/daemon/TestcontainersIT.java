package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.ComposeProgram;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Testcontainers on the agent's socket. */
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.BUILDAH,
  Fact.DOCKERD,
  Fact.COMPOSE
})
class TestcontainersIT {
  private static final Duration LIMIT = Duration.ofSeconds(220);

  @TempDir Path directory;

  @Test
  void everythingWorksAndNothingIsLeft() throws Exception {
    Path configuration = directory.resolve("config");
    Path plugins = Files.createDirectories(configuration.resolve("cli-plugins"));
    Files.createSymbolicLink(plugins.resolve("docker-compose"), ComposeProgram.path());
    try (DockerNode node = DockerNode.open(configuration)) {
      var env = new HashMap<>(node.docker().env());
      env.put("TESTCONTAINERS_RYUK_DISABLED", "true"); // its image is on no registry here
      env.put("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1");
      CommandResult result =
          Processes.run(
              Command.of(
                      ProcessHandle.current().info().command().orElse("java"),
                      "-XX:+UseSerialGC",
                      "-Xmx256m",
                      "-XX:TieredStopAtLevel=1",
                      "-Duser.home=" + directory, // nobody's settings
                      "-cp",
                      System.getProperty("java.class.path"),
                      TestcontainersProgram.class.getName(),
                      Node.IMAGE,
                      directory.toString())
                  .withEnv(env),
              Deadline.after(LIMIT));

      assertThat(result.stdout().lines().filter(TestcontainersProgram.STEPS::contains))
          .as("%s%n%s", result.stdout(), result.stderr())
          .containsExactlyElementsOf(TestcontainersProgram.STEPS);
      assertThat(result.code()).isZero();
      assertThat(node.docker().out("ps", "-aq")).isEmpty();
      assertThat(node.docker().out("network", "ls", "-q", "--filter", "type=custom")).isEmpty();
      assertThat(node.docker().out("volume", "ls", "-q")).isEmpty();
      assertThat(node.docker().out("images", "-q").lines()).hasSize(1);
    }
  }
}
