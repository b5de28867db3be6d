package dev.zlayer.bench.micro;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogSpec;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.runtime.log.EndSignal;
import dev.zlayer.runtime.log.LogFileReader;
import dev.zlayer.runtime.log.LogFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Reads log lines as conmon writes them. */
@State(Scope.Benchmark)
public class Logs {
  private static final int LINES = 10_000;
  private @Nullable Path directory;
  private @Nullable DirectoryWatchLoop watch;
  private @Nullable LogFiles files;

  @Setup
  public void write() throws IOException {
    directory = Files.createTempDirectory("logs");
    watch =
        DirectoryWatchLoop.open("bench", directory, List.of(StandardWatchEventKinds.ENTRY_CREATE));
    files = new LogFiles(directory, new LogSpec(1L << 30, 2));
    files.prepare();
    var line = "2026-11-15T06:00:00.123456789+00:00 stdout F " + "0123456789".repeat(7) + "\n";
    Files.writeString(files.current(), line.repeat(LINES));
  }

  @TearDown
  public void clean() throws IOException {
    Objects.requireNonNull(watch).close();
    try (var tree = Files.walk(Objects.requireNonNull(directory))) {
      for (Path path : tree.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }

  @Benchmark
  @OperationsPerInvocation(LINES)
  public long readLogLine() throws InterruptedException {
    long bytes = 0;
    try (var reader =
        LogFileReader.open(
            Objects.requireNonNull(files),
            LogQuery.ALL,
            Objects.requireNonNull(watch),
            EndSignal.ENDED,
            InstantSource.system())) {
      for (var line = reader.next(); line.isPresent(); line = reader.next()) {
        bytes += line.get().bytes().length;
      }
    }
    return bytes;
  }
}
