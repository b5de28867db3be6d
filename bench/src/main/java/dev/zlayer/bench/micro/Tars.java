package dev.zlayer.bench.micro;

import dev.zlayer.tar.TarReader;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** Reads a tar stream of small files, as most layers are. */
@State(Scope.Benchmark)
public class Tars {
  private static final int MEMBERS = 1000;
  private final byte[] tar = tar();

  private static byte[] tar() {
    String text = "text ".repeat(200);
    return TarWriter.archive(
        IntStream.range(0, MEMBERS)
            .mapToObj(number -> TarEntry.file("usr/share/doc/package-" + number, text))
            .toList());
  }

  @Benchmark
  @OperationsPerInvocation(MEMBERS)
  public long readTarMember() throws IOException, InterruptedException {
    var reader = new TarReader(new ByteArrayInputStream(tar));
    var bytes = new long[1];
    while (reader.next().isPresent()) {
      reader.content((_, _, _, length) -> bytes[0] += length);
    }
    return bytes[0];
  }
}
