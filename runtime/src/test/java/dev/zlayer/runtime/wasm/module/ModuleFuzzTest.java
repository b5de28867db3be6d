package dev.zlayer.runtime.wasm.module;

import dev.zlayer.testkit.fuzz.Fuzzer;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** WebAssembly modules, damaged: they are made a program, or are no module. */
class ModuleFuzzTest {
  private static final String SMALLEST =
      "0061736d01000000"
          + "010401600000"
          + "03020100"
          + "070a01065f73746172740000"
          + "0a040102000b";

  private static final List<String> WORDS =
      List.of("\u0000", "\u0001", "\u007f", "_start", "memory", "\u000b", "\u0010", "\u0002@", "A");

  @TempDir Path directory;

  @Test
  void modulesAreProgramsOrRefused() throws Exception {
    byte[] rich;
    try (var in = ModuleFuzzTest.class.getResourceAsStream("/rich.wasm")) {
      rich = Objects.requireNonNull(in).readAllBytes();
    }
    var programs =
        new Programs(
            ModuleStore.open(directory.resolve("modules"), "wasm"),
            ModuleStore.open(directory.resolve("compiled"), "jar"),
            4,
            new MemoryBudget(Runtime.getRuntime().maxMemory() / 2),
            InstantSource.system());
    new Fuzzer(
            "fuzz/wasm",
            400,
            List.of(HexFormat.of().parseHex(SMALLEST), rich),
            WORDS,
            InvalidModule.class::isInstance,
            input -> programs.program(programs.keep(() -> input)).release())
        .run();
  }
}
