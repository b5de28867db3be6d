package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Container;
import dev.zlayer.runtime.composite.CompositeRuntime;
import dev.zlayer.runtime.composite.FileDispatchRecords;
import dev.zlayer.runtime.composite.Selection;
import dev.zlayer.runtime.docker.DockerRuntime;
import dev.zlayer.runtime.docker.DockerSettings;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.docker.DockerEngine;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two real runtimes as one: the own one and an engine beside it. */
@Requires({Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.OVERLAYFS, Fact.DOCKERD})
class CompositeDockerIT {
  private static final ContainerId HERE = ContainerId.of("mixed", "here", 1);
  private static final ContainerId THERE = ContainerId.of("mixed", "there", 1);

  @TempDir Path directory;

  /** The image is in the own store only; the engine gets it without any registry. */
  @Test
  void eachRunsWhereItBelongsAndIsFoundAgain() throws Exception {
    try (DockerEngine engine = DockerEngine.onHostNetwork()) {
      RuntimeFixture fixture = RuntimeFixture.open(directory);
      try {
        try (DockerRuntime docker = docker(engine)) {
          var node = composite(fixture, docker);
          node.create(HERE, RuntimeFixture.script("sleep 1000")).start();
          node.create(THERE, onDocker(RuntimeFixture.script("sleep 1000"))).start();
          assertThat(fixture.runtime.find(HERE)).isPresent();
          assertThat(fixture.runtime.find(THERE)).isEmpty();
          assertThat(docker.find(THERE)).isPresent();
          var windows = RuntimeFixture.script("true").withPlatform(Platform.of("windows", "amd64"));
          assertThatThrownBy(() -> node.create(ContainerId.of("mixed", "far", 1), windows))
              .isInstanceOf(AgentException.RouteToPeer.class)
              .hasMessageContaining("service 'far' needs a node that runs windows");
        }
        fixture.close();
        fixture = RuntimeFixture.open(directory);
        try (DockerRuntime docker = docker(engine)) {
          var node = composite(fixture, docker);
          assertThat(node.list()).extracting(Container::id).containsExactlyInAnyOrder(HERE, THERE);
          assertThat(node.find(HERE).orElseThrow().status().alive()).isTrue();
          assertThat(node.find(THERE).orElseThrow().status().alive()).isTrue();
          engine.crash();
          assertThat(node.find(THERE).orElseThrow().status())
              .isInstanceOf(ContainerStatus.Unknown.class);
          assertThat(node.find(HERE).orElseThrow().status().alive()).isTrue();
          engine.revive();
          node.find(THERE).orElseThrow().remove(true);
          node.find(HERE).orElseThrow().remove(true);
          assertThat(node.list()).isEmpty();
          assertThat(FileDispatchRecords.open(fixture.dirs.dispatch()).load()).isEmpty();
        }
      } finally {
        fixture.tearDown();
      }
    }
    new Leaks(directory).assertNone();
  }

  private static DockerRuntime docker(DockerEngine engine) throws InterruptedException {
    return DockerRuntime.open(DockerSettings.of(engine.address(), "mixed"));
  }

  private static CompositeRuntime composite(RuntimeFixture fixture, DockerRuntime docker) {
    return CompositeRuntime.open(List.of(fixture.runtime, docker), fixture.dirs.dispatch());
  }

  private static ContainerSpec onDocker(ContainerSpec spec) {
    return spec.withLabels(Map.of(Selection.ISOLATION_LABEL, "docker"));
  }
}
