package dev.zlayer.daemon;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.Container;
import dev.zlayer.port.PullRequest;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.Map;

/** Runs one command in a container and returns its first line of output. */
final class EmbeddingExample {
  private EmbeddingExample() {}

  static String run(AgentConfig config, ImageRef image, String... command)
      throws InterruptedException {
    try (Agent agent = Agent.open(config, Map.of(), Log.silent())) {
      agent
          .runtime()
          .images()
          .pull(PullRequest.of(image, PullPolicy.IF_NOT_PRESENT), progress -> {});
      Container container =
          agent
              .runtime()
              .create(
                  ContainerId.of(ContainerId.STANDALONE, "example", 1),
                  ContainerSpec.of(image).withProcess(ProcessSpec.DEFAULT.withArgs(command)));
      container.start();
      container.await(WaitCondition.NOT_RUNNING, Deadline.after(Duration.ofSeconds(30)));
      try (var output = container.logs(LogQuery.ALL)) {
        return output.next().map(line -> line.text()).orElse("");
      } finally {
        container.remove(true);
      }
    }
  }
}
