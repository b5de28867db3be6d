package dev.zlayer.runtime.wasm.module;

import dev.zlayer.oci.Digest;
import dev.zlayer.task.KeyedLock;
import java.io.IOException;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
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
  private static final System.Logger LOG = System.getLogger(Programs.class.getName());
  private static final String START = "_start";
  private static final String CORE = "0061736d01000000";
  private static final String COMPONENT = "0061736d0d000100";

  private final ModuleStore modules;
  private final ModuleStore compiled;
  private final InstantSource clock;
  private final KeyedLock<Digest> locks = new KeyedLock<>();
  private final Map<Digest, Program> warm;

  /**
   * @param warm how many programs are kept in memory
   */
  public Programs(ModuleStore modules, ModuleStore compiled, int warm, InstantSource clock) {
    this.modules = modules;
    this.compiled = compiled;
    this.clock = clock;
    this.warm =
        new LinkedHashMap<>(16, 0.75f, true) {
          @Override
          protected boolean removeEldestEntry(Map.Entry<Digest, Program> eldest) {
            return size() > warm;
          }
        };
  }

  /**
   * Keeps a module.
   *
   * @throws UnsoundModule it is not a module that can be run
   */
  public Digest keep(byte[] module) throws IOException {
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
   * The program of a module that is kept; blocks while it is compiled.
   *
   * @throws UnsoundModule it is malformed, or is no command
   */
  public Program program(Digest digest) throws IOException, InterruptedException {
    Program known = known(digest);
    if (known != null) {
      return known;
    }
    try (var _ = locks.lock(digest)) {
      known = known(digest);
      if (known != null) {
        return known;
      }
      Program made = make(digest);
      synchronized (warm) {
        warm.put(digest, made);
      }
      return made;
    }
  }

  /** Forgets what is only in memory. */
  public void forget() {
    synchronized (warm) {
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
      return warm.get(digest);
    }
  }

  private Program make(Digest digest) throws IOException {
    WasmModule module = parse(modules.read(digest));
    requireCommand(module);
    modules.used(digest, clock.instant());
    compiled.used(digest, clock.instant());
    return new Program(module, machines(module, new CompiledClasses(compiled, digest)));
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
