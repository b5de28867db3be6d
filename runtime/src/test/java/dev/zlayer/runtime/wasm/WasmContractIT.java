package dev.zlayer.runtime.wasm;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.contract.RuntimeContract;
import dev.zlayer.testkit.contract.Workload;
import dev.zlayer.testkit.wasm.WasmMaker;
import java.nio.file.Path;
import java.util.ArrayList;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** The contract, as far as it is not about signals that a program handles or programs inside. */
@Requires({Fact.WASI_CLANG, Fact.WABT})
class WasmContractIT extends RuntimeContract {
  @TempDir static Path directory;
  private static WasmStage fixture;
  private static ImageRef image;
  private static ImageRef unlinkable;

  @BeforeAll
  static void open() throws InterruptedException {
    fixture = WasmStage.open(directory);
    image = fixture.image("workload", Modules.workload());
    unlinkable =
        fixture.image(
            "unlinkable",
            WasmMaker.ofText(
                "(module (import \"env\" \"nobody_has_it\" (func)) (func (export \"_start\")))"));
  }

  @AfterAll
  static void close() {
    fixture.close();
  }

  @Override
  protected ContainerRuntime runtime() {
    return fixture.runtime;
  }

  @Override
  protected ContainerRuntime restarted() {
    fixture.close();
    fixture = WasmStage.open(directory);
    return fixture.runtime;
  }

  @Override
  protected ImageRef image() {
    return image;
  }

  @Override
  public boolean realShell() {
    return false;
  }

  @Override
  public boolean outlivesTheAgent() {
    return false;
  }

  @Override
  public ContainerSpec spec(Workload workload) {
    Assumptions.assumeTrue(
        workload.handlers().isEmpty() && !workload.deaf(), "a module handles no signals");
    var words = new ArrayList<String>();
    for (String line : workload.lines()) {
      words.add(line.startsWith("stderr:") ? "err:" + line.substring(7) : "out:" + line);
      words.add("sleep:20");
    }
    words.add("sleep:" + workload.delay().toMillis());
    words.add(workload.exitCode().map(code -> "exit:" + code).orElse("forever"));
    return WasmStage.spec(image, words.toArray(String[]::new));
  }

  @Override
  public ContainerSpec unstartable() {
    return ContainerSpec.of(unlinkable)
        .withProcess(ProcessSpec.DEFAULT)
        .withNetwork(NetworkSpec.NONE);
  }
}
