package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.port.Container;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import org.awaitility.Awaitility;

/** An agent in a process of its own that dies, without any warning, at a step. */
final class CrashAgent {
  static final ContainerId ID = ContainerId.of("crash", "victim", 1);
  static final int DIED = 77;

  private CrashAgent() {}

  /** Arguments: the data directory, and the step to die at. */
  public static void main(String[] args) throws Exception {
    Faults faults =
        step -> {
          if (step.equals(args[1])) {
            Runtime.getRuntime().halt(DIED);
          }
        };
    try {
      live(RuntimeFixture.open(Path.of(args[0]), OciSettings.DEFAULT, faults));
    } catch (Exception | AssertionError e) {
      e.printStackTrace(); // threads of the runtime would keep this process running without a word
    }
    Runtime.getRuntime().halt(1); // also when the step does not exist
  }

  static ContainerSpec spec() {
    return ContainerSpec.of(RuntimeFixture.BUSYBOX)
        .withNetwork(
            NetworkSpec.DEFAULT.withPorts(
                new NetworkSpec.Port(
                    OptionalInt.empty(), 80, NetworkSpec.Protocol.TCP, Optional.empty())))
        .withFileSystem(FileSystemSpec.of(new Mount.Anonymous("/anonymous")))
        .withProcess(ProcessSpec.DEFAULT.withArgs("sleep", "300"));
  }

  /** A whole life, so that every step is passed. */
  private static void live(RuntimeFixture fixture) throws Exception {
    Container container = fixture.runtime.create(ID, spec());
    container.start();
    try (var session = container.exec(ExecSpec.of("sleep", "4242"))) {
      Awaitility.await()
          .atMost(Duration.ofSeconds(50)) // below what the test grants this process
          .until(() -> Runs.exec(container, "ps").contains("sleep 4242"));
    }
    container.stop(Duration.ofMillis(100));
    container.remove(false);
  }
}
