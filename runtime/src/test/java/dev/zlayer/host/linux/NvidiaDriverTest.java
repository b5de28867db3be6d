package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.testkit.FakeGpuDriver;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NvidiaDriverTest {
  @TempDir Path root;

  @Test
  void versionGpusLibrariesAndProgramsAreFoundWithoutAToolOfTheVendor() throws Exception {
    FakeGpuDriver.install(root, "580.159.04", 2);

    NvidiaDriver driver = NvidiaDriver.find(root).orElseThrow();

    assertThat(driver.version()).isEqualTo("580.159.04");
    assertThat(driver.gpus()).extracting(NvidiaDriver.Gpu::minor).containsExactly(0, 1);
    NvidiaDriver.Gpu second = driver.gpus().get(1);
    assertThat(second.model()).isEqualTo("NVIDIA H200");
    assertThat(second.uuid()).isEqualTo(FakeGpuDriver.uuid(1));
    assertThat(second.bus()).isEqualTo("0000:02:00.0");
    assertThat(second.node()).isEqualTo(root.resolve("dev/nvidia1"));
    assertThat(driver.nodes())
        .containsExactly(root.resolve("dev/nvidiactl"), root.resolve("dev/nvidia-uvm"));
    assertThat(driver.libraries())
        .extracting(library -> library.file().getFileName().toString(), NvidiaDriver.Library::names)
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple(
                "libcuda.so.580.159.04", List.of("libcuda.so", "libcuda.so.1")),
            org.assertj.core.groups.Tuple.tuple("libnvidia-gpucomp.so.580.159.04", List.of()),
            org.assertj.core.groups.Tuple.tuple(
                "libnvidia-ml.so.580.159.04", List.of("libnvidia-ml.so", "libnvidia-ml.so.1")));
    assertThat(driver.library("libcuda.so.1"))
        .contains(root.resolve("usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04").toRealPath());
    assertThat(driver.programs())
        .containsKeys("nvidia-smi", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server");
  }

  @Test
  void aProgramIsPreferredToAScriptInFrontOfIt() throws Exception {
    FakeGpuDriver.install(root, "580.159.04", 1);
    Path program = root.resolve("usr/local/nvidia/bin/nvidia-smi");
    Files.createDirectories(program.getParent());
    Files.write(program, new byte[] {0x7f, 'E', 'L', 'F', 2});
    assertThat(program.toFile().setExecutable(true)).isTrue();

    assertThat(NvidiaDriver.find(root).orElseThrow().programs())
        .containsEntry("nvidia-smi", program)
        .containsEntry("nvidia-cuda-mps-control", root.resolve("usr/bin/nvidia-cuda-mps-control"));
  }

  @Test
  void aDividedGpuHasParts() throws Exception {
    FakeGpuDriver.install(root, "580.159.04", 1).divide(0);

    assertThat(NvidiaDriver.find(root).orElseThrow().gpus().getFirst().instances())
        .containsExactly(
            new NvidiaDriver.Instance(1, 0, capabilities(10, 11)),
            new NvidiaDriver.Instance(2, 0, capabilities(20, 21)));
  }

  private List<Path> capabilities(int... minors) {
    return Arrays.stream(minors)
        .mapToObj(minor -> root.resolve("dev/nvidia-caps/nvidia-cap" + minor))
        .toList();
  }

  @Test
  void theOlderFormOfTheVersionIsRead() throws Exception {
    Path version = root.resolve("proc/driver/nvidia/version");
    Files.createDirectories(version.getParent());
    Files.writeString(
        version, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.154.05  Thu Dec 28\n");

    assertThat(NvidiaDriver.find(root).orElseThrow().version()).isEqualTo("535.154.05");

    Files.writeString(version, "something else\n");
    assertThatThrownBy(() -> NvidiaDriver.find(root))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("names no version");
  }

  @Test
  void theLoaderCacheIsReadAlsoBehindAnOlderTable() throws Exception {
    byte[] cache = FakeGpuDriver.loaderCache(List.of("libcuda.so.1", "/opt/libcuda.so.1"));
    var entry = new LoaderCache.Entry("libcuda.so.1", "/opt/libcuda.so.1");
    assertThat(LoaderCache.parse(cache)).containsExactly(entry);

    byte[] old = new byte[64 + cache.length];
    byte[] magic = "ld.so-1.7.0".getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(magic, 0, old, 0, magic.length);
    System.arraycopy(cache, 0, old, 64, cache.length);
    assertThat(LoaderCache.parse(old)).containsExactly(entry);
  }

  @Test
  void aBrokenLoaderCacheIsAnErrorAndAnAbsentOneIsNot() throws Exception {
    byte[] cache = FakeGpuDriver.loaderCache(List.of("libcuda.so.1", "/opt/libcuda.so.1"));
    for (int length : new int[] {0, 20, 47, 71}) {
      assertThatThrownBy(() -> LoaderCache.parse(Arrays.copyOf(cache, length)))
          .as("%d bytes", length)
          .isInstanceOf(IOException.class)
          .hasMessageContaining("run ldconfig");
    }
    assertThat(LoaderCache.read(root.resolve("absent"))).isEmpty();
  }

  @Test
  void theLoaderCacheOfThisHostIsUnderstood() throws Exception {
    Path file = Path.of("/etc/ld.so.cache");
    org.junit.jupiter.api.Assumptions.assumeTrue(Files.exists(file), "no glibc here");
    assertThat(LoaderCache.read(file))
        .isNotEmpty()
        .allSatisfy(entry -> assertThat(entry.path()).startsWith("/"));
  }
}
