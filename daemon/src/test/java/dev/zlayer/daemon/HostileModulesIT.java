package dev.zlayer.daemon;

import static dev.zlayer.testkit.wasm.RawModule.begin;
import static dev.zlayer.testkit.wasm.RawModule.locals;
import static dev.zlayer.testkit.wasm.RawModule.ofFunctions;
import static dev.zlayer.testkit.wasm.RawModule.part;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.wasm.RawModule;
import dev.zlayer.testkit.wasm.WasmMaker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Modules that try to end the agent, which has the heap that it is shipped with and exits when that
 * is used up.
 */
@Requires(Fact.WABT)
class HostileModulesIT {
  private static final int MODULES = 12;
  private static final long BUDGET = 128L << 20;

  private static Node node;
  private static ChildDaemon daemon;
  private static Rest rest;

  @BeforeAll
  static void open() throws Exception {
    node = new Node();
    daemon = ChildDaemon.start(node);
    rest = node.rest();
  }

  @AfterAll
  static void close() throws Exception {
    try (var _ = node;
        var _ = daemon;
        var _ = rest) {
      // in this order, from the last to the first
    }
  }

  /** Grows until it is refused, says how far it came as its exit code, or sleeps if it is told. */
  private static byte[] grower(String what, boolean sleeps) {
    return WasmMaker.ofText(
        """
        (module
          (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
          (import "wasi_snapshot_preview1" "poll_oneoff"
            (func $poll (param i32 i32 i32 i32) (result i32)))
          (memory (export "memory") 1)
          (table $t 1 funcref)
          (func $grow (result i32) WHAT)
          (func (export "_start") (local $n i32)
            (block $refused
              (loop $more
                (br_if $refused (i32.eq (call $grow) (i32.const -1)))
                (local.set $n (i32.add (local.get $n) (i32.const 1)))
                (br $more)))
            (i64.store (i32.const 24) (i64.const 0x7fffffffffffff))
            (if (i32.const SLEEPS)
              (then (drop (call $poll (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128)))))
            (call $exit (local.get $n))))
        """
            .replace("WHAT", what)
            .replace("SLEEPS", sleeps ? "1" : "0"));
  }

  private static final String MEMORY = "(memory.grow (i32.const 16))";
  private static final String TABLE = "(table.grow $t (ref.null func) (i32.const 52428))";

  @ParameterizedTest
  @ValueSource(strings = {MEMORY, TABLE})
  void modulesThatGrowTogetherStayWithinOneBudget(String what) throws Exception {
    var names = new ArrayList<String>();
    try {
      image("grower", grower(what, true));
      for (int i = 0; i < MODULES; i++) {
        names.add("grower" + i);
        create("grower" + i, "grower");
      }
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .untilAsserted(() -> assertThat(used()).isGreaterThan(BUDGET / 2));
      long sum = used();
      assertThat(sum).isLessThanOrEqualTo(BUDGET);
      alive();
    } finally {
      for (String name : names) {
        rest.delete("/containers/" + name + "?force=true");
      }
    }
    image("alone", grower(what, false));
    create("alone", "alone").expect(201);
    Json end = rest.post("/containers/alone/wait", "{}").expect(200).json();
    assertThat(end.at("code").integer().orElse(0L))
        .as("what the others had is free again: " + end)
        .isGreaterThan(30);
    rest.delete("/containers/alone?force=true").expect(204);
    alive();
  }

  private static long used() throws InterruptedException {
    return rest.get("/stats").expect(200).json().items().stream()
        .mapToLong(stats -> stats.at("memory_bytes").integer().orElse(0L))
        .sum();
  }

  static Stream<Arguments> hostile() {
    RawModule call = part().add(0x10, 0);
    RawModule blocks = part().add(0).repeat(100_000, 0x02, 0x40).repeat(100_000, 0x0b).end();
    RawModule thousand = part().add(1, 0x60, 0).number(1000).repeat(1000, 0x7f);
    return Stream.of(
        Arguments.of("locals in many runs", ofFunctions(1, locals(3000, 50_000).end()), "locals"),
        Arguments.of(
            "locals of many functions", ofFunctions(2000, locals(1, 50_000).end()), "MiB of heap"),
        Arguments.of("many functions", ofFunctions(900_000, part().add(0).end()), "MiB of heap"),
        Arguments.of(
            "a large function", ofFunctions(1, part().add(0).repeat(2 << 20, 1).end()), "of heap"),
        Arguments.of("recursion", ofFunctions(1, part().add(0).add(call).end()), "stack"),
        Arguments.of(
            "recursion with locals on the heap",
            ofFunctions(1, locals(1, 50_000).add(call).end()),
            "call stack exhausted"),
        Arguments.of(
            "recursion of a function that is interpreted",
            ofFunctions(1, part().add(0).add(call).repeat(60_000, 0x41, 1, 0x1a).end()),
            "call stack exhausted"),
        Arguments.of("deep nesting", ofFunctions(1, blocks), ""),
        Arguments.of(
            "blocks with a thousand results",
            begin()
                .section(
                    1,
                    part()
                        .add(2, 0x60, 0, 0)
                        .add(part().add(0x60, 0))
                        .number(1000)
                        .repeat(1000, 0x7f))
                .section(3, part().add(1, 0))
                .section(7, part().add(1).name("_start").add(0, 0))
                .section(
                    10,
                    part().add(1).number(400_002).add(0).repeat(100_000, 0x02, 1, 0, 0x0b).end())
                .bytes(),
            "MiB of heap"),
        Arguments.of(
            "a type with too many values",
            begin().section(1, thousand.number(1L << 31)).bytes(),
            "malformed"),
        Arguments.of(
            "a name of 2 GiB",
            begin().section(7, part().add(1).number(Integer.MAX_VALUE).add('x')).bytes(),
            "malformed"),
        Arguments.of(
            "data of 2 GiB",
            begin().section(11, part().add(1, 1).number(Integer.MAX_VALUE).add(1)).bytes(),
            "malformed"),
        Arguments.of(
            "elements beyond counting",
            begin().section(9, part().add(1, 1, 0).number(Integer.MAX_VALUE).add(0)).bytes(),
            "malformed"),
        Arguments.of(
            "arrays of the collector",
            begin().section(1, part().add(1, 0x5e, 0x7e, 1)).bytes(),
            "garbage collection"),
        Arguments.of(
            "a huge table",
            WasmMaker.ofText("(module (table 9999999 funcref) (func (export \"_start\")))"),
            "a table of 9999999 entries"),
        Arguments.of(
            "a huge memory",
            WasmMaker.ofText("(module (memory 32000) (func (export \"_start\")))"),
            "of memory to begin with"));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource
  void hostile(String what, byte[] module, String reason) throws Exception {
    image("hostile", module);
    Rest.Reply created = create("hostile", "hostile");
    String answer = created.text();
    if (created.status() == 201) {
      rest.post("/containers/hostile/wait", "{}").expect(200);
      answer = rest.get("/containers/hostile/logs").expect(200).text();
    }
    assertThat(answer).contains(reason);
    rest.delete("/containers/hostile?force=true");
    alive();
  }

  /** A buffer for a call counts too: here one of 90 MB, beside a memory of 90 MB. */
  @Test
  void buffersOfCallsCount() throws Exception {
    image(
        "writer",
        WasmMaker.ofText(
            """
            (module
              (import "wasi_snapshot_preview1" "fd_write"
                (func $write (param i32 i32 i32 i32) (result i32)))
              (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
              (memory (export "memory") 1400)
              (func (export "_start")
                (i32.store (i32.const 4) (i32.const 90000000))
                (call $exit
                  (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
            """));
    create("writer", "writer").expect(201);
    Json end = rest.post("/containers/writer/wait", "{}").expect(200).json();
    assertThat(end.at("code").integer()).as(end.toString()).contains(48L);
    rest.delete("/containers/writer?force=true").expect(204);
    alive();
  }

  private static void image(String name, byte[] module) throws InterruptedException {
    rest.postBytes("/images/import?ref=localhost/" + name + ":1", module).expect(200);
  }

  private static Rest.Reply create(String name, String image) throws InterruptedException {
    return rest.post(
        "/containers",
        "{\"name\":\"%s\",\"image\":\"localhost/%s:1\",\"pull\":\"never\",\"network_mode\":\"none\"}"
            .formatted(name, image));
  }

  private static void alive() throws InterruptedException {
    assertThat(ProcessHandle.of(daemon.pid()).map(ProcessHandle::isAlive)).contains(true);
    rest.get("/ping").expect(200);
  }
}
