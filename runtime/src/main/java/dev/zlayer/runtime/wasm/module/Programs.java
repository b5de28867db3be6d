package dev.zlayer.runtime.wasm.module;

import dev.zlayer.oci.Digest;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import run.endive.compiler.InterpreterFallback;
import run.endive.compiler.MachineFactoryCompiler;
import run.endive.runtime.Instance;
import run.endive.runtime.InterpreterMachine;
import run.endive.runtime.Machine;
import run.endive.wasm.Parser;
import run.endive.wasm.WasmEngineException;
import run.endive.wasm.WasmModule;
import run.endive.wasm.types.ExternalType;

/**
 * Makes programs of modules: parsed and compiled once, kept in memory while they are used often,
 * and the compiled classes on disk. A function that is too large for the compiler is interpreted.
 */
public final class Programs {
  private static final System.Logger LOG = LazyLogger.of(Programs.class);
  private static final String START = "_start";
  private static final String CORE = "0061736d01000000";
  private static final String COMPONENT = "0061736d0d000100";

  private final ModuleStore modules;
  private final ModuleStore compiled;
  private final InstantSource clock;
  private final MemoryBudget budget;
  private final int mostWarm;

  /** One module is read, parsed or compiled at a time, since each takes a lot of the heap. */
  private final Semaphore loading = new Semaphore(1, true);

  private final Map<Digest, Program> warm = new LinkedHashMap<>(16, 0.75f, true);

  /** Where the bytes of a module come from. */
  public interface Source {
    byte[] read() throws IOException, InterruptedException;
  }

  /**
   * @param warm how many programs are kept in memory, as long as the budget has room for them
   */
  public Programs(
      ModuleStore modules,
      ModuleStore compiled,
      int warm,
      MemoryBudget budget,
      InstantSource clock) {
    this.modules = modules;
    this.compiled = compiled;
    this.mostWarm = warm;
    this.budget = budget;
    this.clock = clock;
    budget.whenShort(this::dropIdle);
  }

  /**
   * Keeps a module.
   *
   * @throws InvalidModule it is not a module that can be run
   */
  public Digest keep(Source source) throws IOException, InterruptedException {
    loading.acquire();
    try {
      return keep(source.read());
    } finally {
      loading.release();
    }
  }

  private Digest keep(byte[] module) throws IOException {
    String head = HexFormat.of().formatHex(module, 0, Math.min(module.length, 8));
    if (head.equals(COMPONENT)) {
      throw new InvalidModule(
          "it is a component (WASI preview 2): build it as a module for WASI preview 1");
    }
    if (!head.equals(CORE)) {
      throw new InvalidModule("it is not a WebAssembly module of version 1");
    }
    return modules.put(module);
  }

  /**
   * The program of a module that is kept; blocks while it is compiled. The caller releases it.
   *
   * @throws InvalidModule it is malformed, or is no command
   */
  public Program program(Digest digest) throws IOException, InterruptedException {
    Program known = known(digest);
    if (known != null) {
      return known;
    }
    loading.acquire();
    try {
      known = known(digest);
      return known != null ? known : make(digest);
    } finally {
      loading.release();
    }
  }

  /** Forgets what is only in memory. */
  public void forget() {
    synchronized (warm) {
      warm.values().forEach(Program::release);
      warm.clear();
    }
  }

  /** Makes room; modules of containers stay. */
  public void trim(Set<Digest> needed, long bytes) throws IOException {
    modules.trim(needed, bytes);
    compiled.trim(needed, bytes);
  }

  private @Nullable Program known(Digest digest) {
    synchronized (warm) {
      Program program = warm.get(digest);
      return program != null && program.retain() ? program : null;
    }
  }

  private Program make(Digest digest) throws IOException {
    ModuleScan outline = ModuleScan.of(modules.read(digest));
    take(outline.programBytes());
    boolean made = false;
    try {
      WasmModule module = parse(outline.bytes());
      requireCommand(module);
      modules.used(digest, clock.instant());
      compiled.used(digest, clock.instant());
      var program =
          new Program(
              module,
              machines(module, new CompiledClasses(compiled, digest)),
              budget,
              outline.programBytes(),
              outline.runBytes());
      made = true;
      keepWarm(digest, program);
      return program;
    } finally {
      if (!made) {
        budget.release(outline.programBytes());
      }
    }
  }

  private void take(long bytes) throws InvalidModule {
    if (bytes > budget.total()) {
      throw new InvalidModule(
          "the module needs about %d MiB of heap, and the agent has %d MiB for all modules: give it a larger heap"
              .formatted(bytes >> 20, budget.total() >> 20));
    }
    if (!budget.take(bytes)) {
      throw new InvalidModule(
          "the module needs about %d MiB of heap, and the modules that run leave %d MiB of %d MiB: stop some, or give the agent a larger heap"
              .formatted(bytes >> 20, Math.max(0, budget.left()) >> 20, budget.total() >> 20));
    }
  }

  /** Drops the program that was not used for longest; false when all are used. */
  private boolean dropIdle() {
    synchronized (warm) {
      for (var eldest = warm.values().iterator(); eldest.hasNext(); ) {
        Program program = eldest.next();
        if (program.idle()) {
          eldest.remove();
          program.release();
          return true;
        }
      }
      return false;
    }
  }

  private void keepWarm(Digest digest, Program program) {
    synchronized (warm) {
      if (program.retain()) {
        warm.put(digest, program);
      }
      while (warm.size() > mostWarm && dropIdle()) {
        // the next one
      }
    }
  }

  private static WasmModule parse(byte[] bytes) throws InvalidModule {
    try {
      return Parser.parse(bytes);
    } catch (WasmEngineException e) {
      throw new InvalidModule("the module is malformed: " + e.getMessage(), e);
    } catch (RuntimeException | StackOverflowError e) {
      // the parser trusts some of the numbers in it
      throw new InvalidModule("the module is malformed: " + e, e);
    }
  }

  private static void requireCommand(WasmModule module) throws InvalidModule {
    var exports = module.exportSection();
    for (int i = 0; i < exports.exportCount(); i++) {
      var export = exports.getExport(i);
      if (export.name().equals(START) && export.exportType() == ExternalType.FUNCTION) {
        return;
      }
    }
    throw new InvalidModule(
        "the module exports no function %s: only commands can be run, not libraries"
            .formatted(START));
  }

  /** A compiler that fails is no reason not to run: what it cannot do is interpreted. */
  private static Function<Instance, Machine> machines(WasmModule module, CompiledClasses classes)
      throws IOException {
    try {
      return compile(module, classes);
    } catch (LinkageError | RuntimeException | StackOverflowError e) {
      LOG.log(System.Logger.Level.DEBUG, "compiled classes are thrown away", e);
      classes.discard();
    }
    try {
      return compile(module, classes);
    } catch (LinkageError | RuntimeException | StackOverflowError e) {
      LOG.log(System.Logger.Level.WARNING, "a module is interpreted, since compiling failed", e);
      return InterpreterMachine::new;
    }
  }

  private static Function<Instance, Machine> compile(WasmModule module, CompiledClasses classes) {
    return MachineFactoryCompiler.builder(module)
        .withInterpreterFallback(InterpreterFallback.SILENT)
        .withCache(classes)
        .compile();
  }
}
