package dev.zlayer.runtime.lifecycle;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.runtime.composite.DispatchRecord;
import dev.zlayer.testkit.FrozenFormat;
import org.junit.jupiter.api.Test;

/** Members, variants and constants of the records of containers stay as the frozen lists are. */
class StoredRecordTest {
  private static final int VERSION = LifecycleRecord.VERSION;

  @Test
  void theRecordOfALinuxContainerHasTheSameShape() {
    FrozenFormat.check(
        "container-v%d.shape".formatted(VERSION), FrozenFormat.shape(ContainerRecord.class));
  }

  @Test
  void theRecordOfAModuleHasTheSameShape() throws ClassNotFoundException {
    FrozenFormat.check(
        "wasm-v%d.shape".formatted(VERSION),
        FrozenFormat.shape(Class.forName("dev.zlayer.runtime.wasm.WasmRecord")));
  }

  @Test
  void theRecordOfAChoiceHasTheSameShape() {
    FrozenFormat.check("dispatch-v6.shape", FrozenFormat.shape(DispatchRecord.class));
  }

  /** As labels of containers of a Docker Engine have it. */
  @Test
  void aSpecHasTheSameShape() {
    FrozenFormat.check("spec-v6.shape", FrozenFormat.shape(ContainerSpec.class));
  }
}
