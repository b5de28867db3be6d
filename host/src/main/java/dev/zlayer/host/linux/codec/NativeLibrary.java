package dev.zlayer.host.linux.codec;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/** A shared library that may or may not be installed. */
@SuppressWarnings("restricted") // native calls are made in this package only
final class NativeLibrary {
  static final MemoryLayout INT = ValueLayout.JAVA_INT;
  static final MemoryLayout LONG = ValueLayout.JAVA_LONG;
  static final MemoryLayout POINTER = ValueLayout.ADDRESS;

  private final SymbolLookup symbols;

  private NativeLibrary(SymbolLookup symbols) {
    this.symbols = symbols;
  }

  static Optional<NativeLibrary> find(String name) {
    try {
      return Optional.of(new NativeLibrary(SymbolLookup.libraryLookup(name, Arena.global())));
    } catch (IllegalArgumentException _) {
      return Optional.empty();
    }
  }

  /** A handle {@code (arguments...) -> result}. */
  MethodHandle bind(String function, MemoryLayout result, MemoryLayout... arguments) {
    return Linker.nativeLinker()
        .downcallHandle(symbols.findOrThrow(function), FunctionDescriptor.of(result, arguments));
  }

  /** A handle {@code (arguments...)} of a function that gives nothing. */
  MethodHandle bindVoid(String function, MemoryLayout... arguments) {
    return Linker.nativeLinker()
        .downcallHandle(symbols.findOrThrow(function), FunctionDescriptor.ofVoid(arguments));
  }

  /** Handles throw Throwable in their signature only; a C function cannot. */
  static RuntimeException impossible(Throwable thrown) {
    return new IllegalStateException("a native call threw", thrown);
  }
}
