package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.Container;
import dev.zlayer.port.Pausable;
import dev.zlayer.task.Deadline;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is done in the place of the runtime's verbs leaves things as it would itself. */
class DirectVerbsIT extends OnStage {
  @BeforeEach
  void onOneWeKnow() {
    assertThat(fixture.runtime.tools().dialect()).isPresent();
  }

  @Test
  void theRuntimeAgreesOnEveryState() throws Exception {
    Container container =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec("sleep", "300"));
    container.start();
    assertThat(runtimeSays(container)).isEqualTo("running");
    ((Pausable) container).pause();
    assertThat(runtimeSays(container)).isEqualTo("paused");
    ((Pausable) container).unpause();
    assertThat(runtimeSays(container)).isEqualTo("running");
    container.kill(dev.zlayer.container.Signal.KILL);
    Runs.end(container);
    assertThat(runtimeSays(container)).isEqualTo("stopped");
    container.start();
    assertThat(runtimeSays(container)).isEqualTo("running");
    container.remove(true);
    new Leaks(directory).assertNone();
  }

  @Test
  void whatOutlivesTheFirstProcessIsEndedByTheRemoval() throws Exception {
    // nobody else on this machine sleeps that long
    String seconds =
        Integer.toString(ThreadLocalRandom.current().nextInt(100_000_000, 1_000_000_000));
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(), sharingPids("sleep %s & exec true".formatted(seconds)));
    container.start();
    assertThat(Runs.end(container)).isEqualTo(new ExitStatus.Code(0));
    Awaitility.await().until(() -> sleepers(seconds).size() == 1);
    container.remove(false);
    assertThat(sleepers(seconds)).isEmpty();
    new Leaks(directory).assertNone();
  }

  private static ContainerSpec sharingPids(String script) {
    SecuritySpec safe = SecuritySpec.DEFAULT;
    return RuntimeFixture.script(script)
        .withSecurity(
            new SecuritySpec(
                List.of(),
                List.of(),
                safe.seccomp(),
                true,
                false,
                new SecuritySpec.Namespace.Host(),
                safe.ipc(),
                Map.of(),
                List.of()));
  }

  private static List<String> sleepers(String seconds) {
    return ProcessHandle.allProcesses()
        .filter(ProcessHandle::isAlive)
        .flatMap(process -> process.info().commandLine().stream())
        .filter(line -> line.endsWith(" " + seconds))
        .toList();
  }

  private String runtimeSays(Container container) throws InterruptedException {
    var command =
        Command.of(
            fixture.runtime.tools().runtime().path().toString(),
            "--root",
            fixture.dirs.ociState().toString(),
            "state",
            container.id().runtimeName());
    String text = Processes.check(command, Deadline.after(RuntimeFixture.TIMEOUT)).stdout();
    return JsonText.parse(text).at("status").string().orElseThrow();
  }
}
