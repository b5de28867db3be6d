package dev.zlayer.runtime.wasm.wasi;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Clock;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import run.endive.runtime.HostFunction;
import run.endive.runtime.ImportValues;
import run.endive.wasi.WasiOptions;
import run.endive.wasi.WasiPreview1;

/**
 * What a module is run with. Closing it closes the files that the module left open.
 *
 * @param calls what it can import
 */
public record Guest(WasiPreview1 wasi, ImportValues calls) implements AutoCloseable {
  /** A directory of the host and its name in the module. */
  public record Directory(Path host, String name, boolean readOnly) {}

  /** The standard streams. */
  public record Streams(InputStream stdin, OutputStream stdout, OutputStream stderr) {}

  /** Heap for as long as one call lasts. */
  public interface Buffers {
    /** Whether there is so much. */
    boolean borrow(long bytes);

    void giveBack(long bytes);
  }

  public static Guest of(
      List<String> arguments,
      Map<String, String> environment,
      List<Directory> directories,
      Streams streams,
      Buffers buffers,
      InstantSource clock)
      throws IOException {
    var refusal = new Refusal();
    WasiOptions.Builder options =
        WasiOptions.builder()
            .withArguments(arguments)
            .withRandom(new SecureRandom())
            .withClock(new Utc(clock))
            .withStdin(streams.stdin(), false)
            .withStdout(streams.stdout(), false)
            .withStderr(streams.stderr(), false);
    environment.forEach(options::withEnvironment);
    for (Directory directory : directories) {
      options.withDirectory(
          directory.name(), JailFileSystem.over(directory.host(), directory.readOnly(), refusal));
    }
    WasiPreview1 wasi = WasiPreview1.builder().withOptions(options.build()).build();
    HostFunction[] guarded = new CallGuard(refusal, buffers).over(wasi.toHostFunctions());
    return new Guest(wasi, ImportValues.builder().addFunction(guarded).build());
  }

  @Override
  public void close() {
    wasi.close();
  }

  private static final class Utc extends Clock {
    private final InstantSource source;

    Utc(InstantSource source) {
      this.source = source;
    }

    @Override
    public ZoneId getZone() {
      return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
      return source.withZone(zone);
    }

    @Override
    public Instant instant() {
      return source.instant();
    }
  }
}
