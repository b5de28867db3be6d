package dev.zlayer.runtime.wasm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.Resources;
import dev.zlayer.container.Signal;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Attachable;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.wasm.WasmMaker;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a module can do, and how it is ended. */
@Requires({Fact.WASI_CLANG, Fact.WABT})
class WasmProgramIT {
  @TempDir static Path directory;
  private static WasmStage fixture;
  private static ImageRef workload;

  @BeforeAll
  static void open() throws InterruptedException {
    fixture = WasmStage.open(directory);
    workload = fixture.image("workload", Modules.workload());
  }

  @AfterAll
  static void close() {
    fixture.close();
  }

  @Test
  void seesArgumentsEnvironmentClockAndRandom() throws InterruptedException {
    ImageRef image =
        fixture.image(
            "facts",
            WasmMaker.ofC(
                """
                #include <stdio.h>
                #include <stdlib.h>
                #include <time.h>
                #include <unistd.h>
                int main(int argc, char **argv) {
                  for (int i = 0; i < argc; i++) printf("%s\\n", argv[i]);
                  printf("%s\\n%s\\n", getenv("GREETING"), getenv("EMPTY"));
                  unsigned char a[16], b[16]; int same = 1;
                  getentropy(a, 16); getentropy(b, 16);
                  for (int i = 0; i < 16; i++) same &= a[i] == b[i];
                  printf("%s\\n%ld\\n", same ? "same" : "random", (long) time(0));
                  return isatty(1) ? 3 : 4;
                }
                """));
    var process =
        ProcessSpec.DEFAULT
            .withEntrypoint("prog")
            .withArgs("one two", "drei ö")
            .withEnv(Map.of("GREETING", "a=b c", "EMPTY", ""));
    Instant before = Instant.now();
    var ended =
        fixture.run(ContainerSpec.of(image).withNetwork(NetworkSpec.NONE).withProcess(process));
    assertThat(ended.outcome().status()).isEqualTo(new ExitStatus.Code(4));
    assertThat(ended.lines().subList(0, 6))
        .containsExactly("prog", "one two", "drei ö", "a=b c", "", "random");
    assertThat(Long.parseLong(ended.lines().get(6)))
        .isBetween(before.getEpochSecond(), before.plusSeconds(120).getEpochSecond());
  }

  @Test
  void aModuleWithoutAnyWordIsCalledLikeItsImage() throws InterruptedException {
    Container container = fixture.create(ContainerSpec.of(workload));
    assertThat(container.inspect().command()).containsExactly("workload");
    assertThat(container.inspect().runtime()).isEqualTo("wasm");
    container.remove(false);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSpinningModuleIsEnded(boolean text) throws InterruptedException {
    ImageRef image = text ? fixture.image("spin", Modules.spin()) : workload;
    ContainerSpec spec = text ? WasmStage.spec(image) : WasmStage.spec(image, "out:up", "spin");
    Container container = fixture.start(spec);
    if (!text) {
      assertThat(WasmStage.firstLine(container)).isEqualTo("up");
    }
    assertThatThrownBy(
            () ->
                container.await(WaitCondition.NOT_RUNNING, Deadline.after(Duration.ofMillis(150))))
        .isInstanceOf(AgentException.Timeout.class);
    Awaitility.await()
        .atMost(WasmStage.TIMEOUT)
        .until(() -> container.stats().cpuNanos() > 20_000_000);
    container.kill(Signal.KILL);
    assertThat(WasmStage.ended(container).status())
        .isEqualTo(new ExitStatus.Signalled(Signal.KILL));
    container.start();
    var stopped = container.stop(Duration.ofSeconds(30)).orElseThrow();
    assertThat(stopped.status()).isEqualTo(new ExitStatus.Signalled(Signal.TERM));
    container.remove(false);
  }

  @Test
  void aSleepingModuleIsEndedAndOneThatIsToldToIgnoreGoesOn() throws InterruptedException {
    Container container = fixture.start(WasmStage.spec(workload, "forever"));
    container.kill(Signal.parse("WINCH"));
    assertThat(container.status()).isInstanceOf(ContainerStatus.Running.class);
    assertThatThrownBy(() -> container.kill(Signal.parse("STOP")))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("cannot be frozen");
    container.kill(Signal.parse("INT"));
    assertThat(WasmStage.ended(container).status().exitCode()).hasValue(130);
    container.remove(false);
  }

  @Test
  void memoryStaysWithinItsLimit() throws InterruptedException {
    ImageRef image =
        fixture.image(
            "hungry",
            WasmMaker.ofC(
                """
                #include <stdio.h>
                #include <stdlib.h>
                #include <string.h>
                int main(void) {
                  int blocks = 0;
                  for (char *volatile p; (p = malloc(1 << 20)); blocks++) memset(p, 1, 1 << 20);
                  printf("%d\\n", blocks);
                  return 7;
                }
                """));
    var limited = WasmStage.spec(image).withResources(Resources.DEFAULT.withMemory(8 << 20));
    var ended = fixture.run(limited);
    assertThat(ended.outcome().status())
        .as(ended.lines().toString())
        .isEqualTo(new ExitStatus.Code(7));
    assertThat(Integer.parseInt(ended.lines().getFirst())).isBetween(5, 8);

    var tiny = WasmStage.spec(image).withResources(Resources.DEFAULT.withMemory(64 << 10));
    Container container = fixture.create(tiny);
    assertThatThrownBy(container::start)
        .isInstanceOf(AgentException.StartFailed.class)
        .hasMessageContaining("KiB of memory to begin with");
    assertThat(container.status()).isInstanceOf(ContainerStatus.Exited.class);
    container.remove(false);
  }

  @Test
  void trapsAndEndlessRecursionAreToldAndLeaveTheAgentAlone() throws InterruptedException {
    ImageRef trap =
        fixture.image(
            "trap",
            WasmMaker.ofText(
                "(module (memory (export \"memory\") 1) (func (export \"_start\") unreachable))"));
    var trapped = fixture.run(WasmStage.spec(trap));
    assertThat(trapped.outcome().status().exitCode()).hasValue(134);
    assertThat(trapped.lines().getLast()).startsWith("trap: ").contains("unreachable");

    ImageRef deep =
        fixture.image(
            "deep",
            WasmMaker.ofText("(module (func $f (call $f)) (func (export \"_start\") (call $f)))"));
    var exhausted = fixture.run(WasmStage.spec(deep));
    assertThat(exhausted.outcome().status().exitCode()).hasValue(134);
    assertThat(exhausted.lines().getLast()).contains("stack");
  }

  /** Tables are memory too: the module grows one until it is refused, and says how far it came. */
  @Test
  void tablesCountAgainstTheMemoryLimit() throws InterruptedException {
    ImageRef image =
        fixture.image(
            "tables",
            WasmMaker.ofText(
                """
                (module
                  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
                  (memory (export "memory") 1)
                  (table $t 1 funcref)
                  (func (export "_start")
                    (block $refused
                      (loop $more
                        (br_if $refused
                          (i32.eq (table.grow $t (ref.null func) (i32.const 50000)) (i32.const -1)))
                        (br $more)))
                    (call $exit (i32.div_u (table.size $t) (i32.const 50000)))))
                """));
    var limited = WasmStage.spec(image).withResources(Resources.DEFAULT.withMemory(8 << 20));
    var ended = fixture.run(limited);
    assertThat(ended.outcome().status().exitCode().orElseThrow())
        .as(ended.lines().toString())
        .isBetween(3, 9);

    ImageRef large =
        fixture.image(
            "large",
            WasmMaker.ofText("(module (table 9000000 funcref) (func (export \"_start\")))"));
    Container container =
        fixture.create(WasmStage.spec(large).withResources(Resources.DEFAULT.withMemory(8 << 20)));
    assertThatThrownBy(container::start)
        .isInstanceOf(AgentException.StartFailed.class)
        .hasMessageContaining("a table of 9000000 entries");
    container.remove(false);
  }

  /** The buffer would be as large as the module says, whatever memory it has. */
  @Test
  void aGreedyReadTakesNothingFromTheAgent() throws InterruptedException {
    ImageRef image =
        fixture.image(
            "greedy",
            WasmMaker.ofText(
                """
                (module
                  (import "wasi_snapshot_preview1" "fd_read"
                    (func $read (param i32 i32 i32 i32) (result i32)))
                  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
                  (memory (export "memory") 1)
                  (data (i32.const 0) "\\10\\00\\00\\00\\ff\\ff\\ff\\7f")
                  (func (export "_start")
                    (call $exit
                      (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))))
                """));
    assertThat(fixture.run(WasmStage.spec(image)).outcome().status())
        .isEqualTo(new ExitStatus.Code(28));
  }

  @Test
  void inputComesFromWhoeverIsAttached() throws Exception {
    ImageRef image =
        fixture.image(
            "cat",
            WasmMaker.ofC(
                """
                #include <stdio.h>
                int main(void) {
                  int c, n = 0;
                  while ((c = getchar()) != EOF) { putchar(c); n++; }
                  return n;
                }
                """));
    var process = ProcessSpec.DEFAULT.withStdin(true);
    Container container = fixture.start(WasmStage.spec(image).withProcess(process));
    try (var session = ((Attachable) container).attach()) {
      session.stdin().write("hello\n".getBytes(StandardCharsets.UTF_8));
      session.stdin().close();
      assertThat(session.stdout().readAllBytes()).asString().isEqualTo("hello\n");
      assertThat(session.await(Deadline.after(WasmStage.TIMEOUT)))
          .isEqualTo(new ExitStatus.Code(6));
    }
    assertThat(WasmStage.lines(container)).containsExactly("hello");
    container.remove(false);

    var without = fixture.run(WasmStage.spec(image));
    assertThat(without.outcome().status()).isEqualTo(new ExitStatus.Code(0));
  }

  @Test
  void outputIsBounded() throws Exception {
    ImageRef image =
        fixture.image(
            "chatty",
            WasmMaker.ofC(
                """
                #include <stdio.h>
                int main(void) {
                  for (int i = 0; i < 20000; i++) printf("line %d of a module that never stops\\n", i);
                  return 0;
                }
                """));
    var spec = WasmStage.spec(image).withLogs(new LogSpec(64 << 10, 3));
    Container container = fixture.start(spec);
    WasmStage.ended(container);
    var lines = WasmStage.lines(container);
    assertThat(lines.size()).isBetween(1000, 5000);
    assertThat(lines.getLast()).startsWith("line 19999 ");
    int first = Integer.parseInt(lines.getFirst().split(" ")[1]);
    assertThat(lines.size()).as("without a gap").isEqualTo(20000 - first);
    Path logs = fixture.dirs.wasmContainer(container.id().runtimeName()).logs();
    long kept = 0;
    try (var files = Files.list(logs)) {
      for (Path file : files.filter(f -> f.toString().matches(".*output\\.[0-9]+")).toList()) {
        kept += Files.size(file);
      }
    }
    assertThat(kept).isLessThan(3 * ((64 << 10) + (16 << 10)));
    container.remove(false);
    assertThat(logs).doesNotExist();
  }

  @Test
  void whatAModuleCannotHaveIsRefusedWithAReason() throws InterruptedException {
    Container container = fixture.start(WasmStage.spec(workload, "forever"));
    assertThatThrownBy(() -> container.exec(ExecSpec.of("true")))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("one program");
    assertThat(container.pid()).isEmpty();
    assertThat(container.ip()).isEmpty();
    container.remove(true);
    var cpus = WasmStage.spec(workload).withResources(Resources.DEFAULT.withCpus(1));
    assertThatThrownBy(() -> fixture.create(cpus))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("a cpu limit");
    var host = WasmStage.spec(workload).withNetwork(NetworkSpec.of(new NetworkSpec.Mode.Host()));
    assertThatThrownBy(() -> fixture.create(host))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("no network");
  }
}
