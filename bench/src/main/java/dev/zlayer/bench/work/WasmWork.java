package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Rounds.Contestant;
import dev.zlayer.bench.engine.Tool;
import dev.zlayer.bench.engine.WasmNode;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.testkit.wasm.WasmMaker;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Modules against containers (starting) and against native code (computing). */
public final class WasmWork implements Work {
  private static final String NATIVE = "native program";

  /** Prints one line and ends. */
  private static final String HELLO =
      """
      (module
        (import "wasi_snapshot_preview1" "fd_write"
          (func $write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (data (i32.const 0) "\\10\\00\\00\\00\\06\\00\\00\\00")
        (data (i32.const 16) "hello\\n")
        (func (export "_start")
          (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
      """;

  /** A sieve, a hash over it and a matrix product, again and again. */
  private static final String COMPUTE =
      """
      #include <stdio.h>
      #include <stdlib.h>
      #define N 400000
      #define M 96
      static unsigned char composite[N];
      static double a[M][M], b[M][M], c[M][M];
      int main(int argc, char **argv) {
        int rounds = argc > 1 ? atoi(argv[1]) : 1;
        unsigned hash = 2166136261u;
        double sum = 0;
        for (int r = 0; r < rounds; r++) {
          for (int i = 0; i < N; i++) composite[i] = 0;
          for (int i = 2; i * i < N; i++)
            if (!composite[i]) for (int j = i * i; j < N; j += i) composite[j] = 1;
          for (int i = 0; i < N; i++) hash = (hash ^ composite[i] ^ r) * 16777619u;
          for (int i = 0; i < M; i++)
            for (int j = 0; j < M; j++) { a[i][j] = i + j + r; b[i][j] = i - j; c[i][j] = 0; }
          for (int i = 0; i < M; i++)
            for (int k = 0; k < M; k++)
              for (int j = 0; j < M; j++) c[i][j] += a[i][k] * b[k][j];
          sum += c[M / 2][M / 3];
        }
        printf("%u %.0f\\n", hash, sum);
        return 0;
      }
      """;

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    try (var node = new WasmNode(arena.directory("wasm"), WasmMaker.ofText(HELLO))) {
      return List.of(starting(arena, node), computing(arena, node));
    }
  }

  private static Report.Table starting(Arena arena, WasmNode node) throws Exception {
    ContainerSpec hello =
        ContainerSpec.of(ImageRef.parse("localhost/hello:bench")).withNetwork(NetworkSpec.NONE);
    var contestants = new ArrayList<Contestant>();
    var engines = arena.engines();
    for (var engine : engines.plain()) {
      contestants.add(Contestant.timed(engine.name(), engine::runTrue));
    }
    contestants.add(Contestant.timed("zlayer, module", () -> node.run(hello)));
    contestants.add(Contestant.timed("zlayer, module as a job", node::runJob));
    var options = arena.options();
    return new Report.Table(
        "print and exit: create or trigger, end known (and removed, but for the job)",
        "ms",
        engines.floor().name(),
        Rounds.run(contestants, options.warm(options.size(20, 3)), options.size(50, 5)));
  }

  private static Report.Table computing(Arena arena, WasmNode node) throws Exception {
    var options = arena.options();
    String rounds = Integer.toString(options.size(300, 30));
    Path program = arena.directory("compute");
    WasmMaker.nativeProgram(COMPUTE, program);
    ContainerSpec module =
        ContainerSpec.of(node.load("compute", WasmMaker.ofC(COMPUTE)))
            .withNetwork(NetworkSpec.NONE)
            .withProcess(ProcessSpec.DEFAULT.withArgs(rounds));
    return new Report.Table(
        "compute: sieve, hash, matrices (clang -O2 both)",
        "ms",
        NATIVE,
        Rounds.run(
            List.of(
                Contestant.timed(NATIVE, () -> Tool.run(program.toString(), rounds)),
                Contestant.timed("zlayer, module", () -> node.run(module))),
            options.warm(options.size(3, 1)),
            options.size(10, 3)));
  }
}
