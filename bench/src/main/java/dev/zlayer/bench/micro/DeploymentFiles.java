package dev.zlayer.bench.micro;

import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** Reads and checks a deployment file of some 90 lines. */
@State(Scope.Benchmark)
public class DeploymentFiles {
  private final byte[] file = read(Path.of(System.getProperty("zlayer.project"), "examples"));

  private static byte[] read(Path examples) {
    try {
      return Files.readAllBytes(examples.resolve("shop.zlayer.yml"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Benchmark
  public SpecResult readDeploymentFile() {
    return SpecReader.read("shop.zlayer.yml", file);
  }
}
