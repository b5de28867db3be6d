package dev.zlayer.bench.micro;

import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Capabilities.ArtifactKind;
import dev.zlayer.port.PlatformAnswer;
import dev.zlayer.runtime.composite.Selection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** Chooses among four runtimes by what the image is. */
@State(Scope.Benchmark)
public class Dispatch {
  private static final Platform WASI = Platform.of("wasi", "wasm");

  private final List<Selection.Candidate> runtimes =
      List.of(
          runtime("oci", Platform.of("linux", "amd64"), ArtifactKind.ROOT_FILE_SYSTEM),
          runtime("docker", Platform.of("linux", "arm64"), ArtifactKind.ROOT_FILE_SYSTEM),
          runtime("windows", Platform.of("windows", "amd64"), ArtifactKind.ROOT_FILE_SYSTEM),
          runtime("wasm", WASI, ArtifactKind.WASM_MODULE));
  private final Selection.Request request =
      new Selection.Request(
          "shop/web",
          Optional.of("auto"),
          Optional.empty(),
          ImageRef.parse("localhost/module:1"),
          new PlatformAnswer.Recognised(List.of(WASI), ArtifactKind.WASM_MODULE));

  private static Selection.Candidate runtime(String name, Platform platform, ArtifactKind kind) {
    return new Selection.Candidate(
        name, new Capabilities(Set.of(platform), Set.of(kind), Set.of()));
  }

  @Benchmark
  public Selection.Candidate chooseARuntime() {
    return Selection.choose(runtimes, request);
  }
}
