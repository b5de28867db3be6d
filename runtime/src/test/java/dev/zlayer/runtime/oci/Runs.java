package dev.zlayer.runtime.oci;

import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Small things that tests do with containers. */
final class Runs {
  private Runs() {}

  static ExitStatus end(Container container) throws InterruptedException {
    return container
        .await(WaitCondition.NOT_RUNNING, Deadline.after(RuntimeFixture.TIMEOUT))
        .status();
  }

  /** What a command inside prints on stdout, without the last line end. */
  static String exec(Container container, String... command)
      throws InterruptedException, IOException {
    return exec(container, ExecSpec.of(command));
  }

  static String exec(Container container, ExecSpec spec) throws InterruptedException, IOException {
    try (var session = container.exec(spec)) {
      String output = new String(session.stdout().readAllBytes(), StandardCharsets.UTF_8);
      session.await(Deadline.after(RuntimeFixture.TIMEOUT));
      return output.strip();
    }
  }
}
