package dev.zlayer.runtime.wasm.module;

import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.image.store.Hashes;
import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import run.endive.compiler.Cache;

/**
 * What was compiled of one module, on disk: the digest of the classes, then the classes. Classes
 * that do not have that digest are thrown away and compiled again.
 */
final class CompiledClasses implements Cache {
  private static final int HEAD = "sha256:".length() + 64 + 1;

  private final Path file;

  CompiledClasses(ModuleStore store, Digest module) {
    this.file = store.file(module);
  }

  /** Null when there is nothing sound, as the compiler's interface has it. */
  @Override
  @SuppressWarnings("NullAway")
  public byte[] get(String key) throws IOException {
    byte[] all;
    try {
      all = Files.readAllBytes(file);
    } catch (NoSuchFileException _) {
      return null;
    }
    if (all.length > HEAD) {
      byte[] classes = Arrays.copyOfRange(all, HEAD, all.length);
      if (Arrays.equals(head(classes), 0, HEAD, all, 0, HEAD)) {
        return classes;
      }
    }
    discard();
    return null;
  }

  @Override
  public void putIfAbsent(String key, byte[] classes) throws IOException {
    byte[] all = Arrays.copyOf(head(classes), HEAD + classes.length);
    System.arraycopy(classes, 0, all, HEAD, classes.length);
    AtomicFile.writeRelaxed(file, all); // what a power failure damages is found and made again
  }

  void discard() throws IOException {
    Files.deleteIfExists(file);
  }

  private static byte[] head(byte[] classes) {
    return (Hashes.sha256(classes) + "\n").getBytes(StandardCharsets.US_ASCII);
  }
}
