package dev.zlayer.cluster.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.oci.Platform;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.placement.Affinity;
import dev.zlayer.spec.placement.PlacementSpec.NodeMode;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import dev.zlayer.spec.resources.GpuSpec.Sharing;
import dev.zlayer.spec.value.Transport;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class WorkloadsTest {
  private static final List<Platform> IMAGE = List.of(Platform.of("linux", "arm64"));

  @Test
  void everyPlacementKeyOfAFileIsACondition() {
    Workload web =
        read(
            """
            image: {name: "example.org/web:1"}
            labels: {com.zlayer.isolation: Docker}
            resources: {cpu: 0.25, memory: 512Mi}
            node_mode: dedicated
            node_selector: {labels: {disk: ssd}, prefer_labels: {zone: a}}
            affinity: !pin zone=a
            port_mappings: [{host_port: 8080, container_port: 80}, {container_port: 81}]
            storage: [{type: named, name: data, target: /data}, {type: tmpfs, target: /tmp}]
            update: {strategy: stop_first, max_unavailable: 2}
            """,
            3);

    assertThat(web.demand().cpuMillis()).isEqualTo(250);
    assertThat(web.demand().memoryBytes()).isEqualTo(512L << 20);
    assertThat(web.demand().mode()).isEqualTo(NodeMode.DEDICATED);
    assertThat(web.demand().ports()).containsExactly(new HostPort(8080, Transport.TCP));
    assertThat(web.demand().volumes()).containsExactly("data");
    assertThat(web.constraints())
        .isEqualTo(
            new Constraints(
                IMAGE,
                Optional.of("docker"),
                Map.of("disk", "ssd"),
                Map.of("zone", "a"),
                new Affinity.Pin("zone=a")));
    assertThat(web.rollout()).isEqualTo(new Workload.Rollout(2, 0));
    assertThat(web.revision()).isEqualTo("abc");
  }

  @Test
  void replicasWithGpusGoCloseTogetherUnlessTheySpread() {
    String gpu = "image: {name: \"example.org/web:1\"}\nresources: {gpu: {count: 1, %s}}\n";

    Workload gang =
        read(gpu.formatted("scheduling: gang, sharing: mps, distributed: {backend: gloo}"), 4);
    assertThat(gang.gang()).isTrue();
    assertThat(gang.constraints().affinity()).isEqualTo(new Affinity.Pack());
    assertThat(gang.demand().gpus().orElseThrow().sharing()).isEqualTo(Sharing.MPS);
    assertThat(gang.revision()).as("all know how many they are").isEqualTo("abc/4");
    assertThat(gang.distributed().orElseThrow().service()).isEqualTo("web");

    Workload spread = read(gpu.formatted("scheduling: spread"), 2);
    assertThat(spread.gang()).isFalse();
    assertThat(spread.constraints().affinity()).isEqualTo(new Affinity.Spread());
    assertThat(read(gpu.formatted("scheduling: best-effort"), 2).gang()).isFalse();
  }

  @Test
  void aPlatformOfTheFileIsTakenBeforeThatOfTheImage() {
    Workload web =
        read(
            """
            image: {name: "example.org/web:1"}
            platform: {os: windows, arch: amd64}
            """,
            1);

    assertThat(web.constraints().platforms()).containsExactly(Platform.of("windows", "amd64"));
    assertThat(web.constraints().affinity()).isEqualTo(new Affinity.Spread());
  }

  private static Workload read(String service, int replicas) {
    String file = "version: v1\ndeployment: shop\nservices:\n  web:\n" + service.indent(4);
    SpecResult result = SpecReader.read("shop.yml", file.getBytes(StandardCharsets.UTF_8));
    assertThat(result).isInstanceOf(SpecResult.Valid.class);
    ServiceSpec spec = ((SpecResult.Valid) result).spec().services().get("web");
    return Workloads.of("shop/web", "web", spec, Optional.empty(), IMAGE, "abc", replicas, false);
  }
}
