package dev.zlayer.runtime.wasm;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.oci.ImageRef;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/**
 * An agent in a process of its own, to be killed: makes one container that has ended, one that runs
 * and one that was never started, then waits.
 */
final class WasmAgent {
  private WasmAgent() {}

  public static void main(String[] arguments) throws Exception {
    Path directory = Path.of(arguments[0]);
    var fixture = WasmStage.open(directory.resolve("data"));
    ImageRef hello = fixture.image("hello", Files.readAllBytes(directory.resolve("hello.wasm")));
    ImageRef spin = fixture.image("spin", Files.readAllBytes(directory.resolve("spin.wasm")));
    var ended = fixture.runtime.create(id("ended"), ContainerSpec.of(hello));
    ended.start();
    if (!WasmStage.ended(ended).status().success()) {
      throw new IllegalStateException("it did not work");
    }
    fixture.runtime.create(id("running"), ContainerSpec.of(spin)).start();
    fixture.runtime.create(id("created"), ContainerSpec.of(hello));
    Files.writeString(directory.resolve("ready"), System.getProperty("user.name"));
    new CountDownLatch(1).await();
  }

  static ContainerId id(String service) {
    return ContainerId.of("agent", service, 1);
  }
}
