package dev.zlayer.image;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.registry.LocalRegistry;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Everything streams: an image of ten times the heap is pulled and unpacked. */
@Requires({Fact.ROOT, Fact.DOCKER_REGISTRY, Fact.SKOPEO, Fact.UMOCI})
class SmallHeapIT {
  private static final String MAKE =
      """
      set -e
      umoci init --layout "$1/layout"
      umoci new --image "$1/layout:v1"
      for n in 1 2 3 4; do
        mkdir -p "$1/root/$n"
        head -c 100000000 /dev/urandom > "$1/root/$n/noise"
        umoci insert --image "$1/layout:v1" "$1/root/$n" "/$n"
        rm -r "$1/root/$n"
      done
      skopeo copy -q --dest-tls-verify=false "oci:$1/layout:v1" "docker://$2/big:v1"
      """;

  @TempDir Path temp;

  @Test
  void pullsFourHundredMegabytesWithFortyOfHeap() throws Exception {
    try (var registry = LocalRegistry.start()) {
      Processes.check(
          Command.of("sh", "-c", MAKE, "sh", temp.toString(), registry.host()),
          Deadline.after(Duration.ofMinutes(3)));
      Path data = temp.resolve("data");
      try (var pull = new PullProcess(List.of("-Xmx40m"), data, registry.host() + "/big:v1")) {
        assertThat(pull.line()).isEqualTo("done");
      }
      try (var store = TestStore.in(data)) {
        assertThat(store.images.layers(registry.ref("big:v1")))
            .hasSize(4)
            .allMatch(layer -> layer.toFile().list().length == 1);
      }
    }
  }
}
