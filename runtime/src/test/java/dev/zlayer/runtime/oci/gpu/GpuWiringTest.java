package dev.zlayer.runtime.oci.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.GpuRequest.Sharing;
import dev.zlayer.error.AgentException;
import dev.zlayer.runtime.oci.config.BundleInput;
import dev.zlayer.runtime.oci.config.DeviceNode;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class GpuWiringTest {
  private static final String SPEC =
      """
      cdiVersion: 0.5.0
      kind: nvidia.com/gpu
      devices:
      - name: "0"
        annotations: {model: NVIDIA A100}
        containerEdits:
          deviceNodes: [{path: /dev/nvidia0, hostPath: /dev/null, permissions: rw}]
      - name: "1"
        annotations: {model: NVIDIA L4}
        containerEdits:
          deviceNodes: [{path: /dev/nvidia1, hostPath: /dev/zero}]
      - name: all
        containerEdits: {}
      containerEdits:
        env: [NVIDIA_VISIBLE_DEVICES=void, CUDA_VISIBLE_DEVICES=9]
        mounts: [{hostPath: /etc/passwd, containerPath: /lib/libcuda.so, options: [ro, bind]}]
        hooks: [{hookName: createContainer, path: /usr/bin/nvidia-ctk, args: [nvidia-ctk, hook]}]
      """;

  @TempDir Path directory;
  private GpuWiring wiring;

  @BeforeEach
  void describe() throws IOException {
    Files.writeString(directory.resolve("nvidia.yaml"), SPEC);
    var catalog =
        new GpuCatalog(
            new GpuCatalog.Places(
                List.of(directory, directory.resolve("absent")), directory.resolve("bare")),
            directory.resolve("data"));
    wiring =
        new GpuWiring(
            catalog,
            new MpsControl(directory.resolve("run"), catalog, Pauses.REAL),
            new TimeSlices(directory.resolve("slices"), catalog));
  }

  @Test
  void devicesMountsVariablesAndHooksAreAdded() throws Exception {
    var wired = wire(1, Optional.empty(), new Sharing.Exclusive(), Set.of());

    assertThat(wired.names()).containsExactly("nvidia.com/gpu=0");
    assertThat(wired.devices())
        .singleElement()
        .extracting(DeviceNode::path, DeviceNode::type, DeviceNode::major, DeviceNode::access)
        .containsExactly("/dev/nvidia0", "c", 1L, "rw");
    assertThat(wired.extra().env()).containsEntry("NVIDIA_VISIBLE_DEVICES", "void");
    assertThat(wired.extra().binds())
        .containsExactly(new BundleInput.Bind(Path.of("/etc/passwd"), "/lib/libcuda.so", true));
    assertThat(wired.extra().hooks())
        .extracting(BundleInput.Hook::point)
        .containsExactly("createContainer");
  }

  @Test
  void takenDevicesGoToNobodyElse() throws Exception {
    assertThat(
            wire(1, Optional.empty(), new Sharing.Exclusive(), Set.of("nvidia.com/gpu=0")).names())
        .containsExactly("nvidia.com/gpu=1");
    assertThatThrownBy(
            () -> wire(2, Optional.empty(), new Sharing.Exclusive(), Set.of("nvidia.com/gpu=0")))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class)
        .hasMessageContaining("1 of 2 nvidia.com/gpu devices are free");
  }

  @Test
  void aModelIsLookedForInWhatTheVendorSays() throws Exception {
    assertThat(wire(1, Optional.of("l4"), new Sharing.Exclusive(), Set.of()).names())
        .containsExactly("nvidia.com/gpu=1");
    assertThatThrownBy(() -> wire(1, Optional.of("h100"), new Sharing.Exclusive(), Set.of()))
        .isInstanceOf(AgentException.Configuration.class);
  }

  @Test
  void whatIsNotDescribedIsAnError() throws Exception {
    assertThatThrownBy(() -> wire(3, Optional.empty(), new Sharing.Exclusive(), Set.of()))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("3 of nvidia.com/gpu");
    assertThatThrownBy(
            () ->
                wiring.wire(
                    new GpuRequest(1, "amd", Optional.empty(), new Sharing.Exclusive()), List.of()))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("amd.com/gpu");
  }

  @Test
  void mpsNeedsALiveDaemon() throws Exception {
    Path pipes = directory.resolve("pipes");
    var mps = mps(pipes);
    assertThatThrownBy(() -> wire(1, Optional.empty(), mps, Set.of()))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class)
        .hasMessageContaining("'mps'")
        .hasMessageContaining("nvidia-cuda-mps-control");

    Files.createDirectory(pipes);
    var control = UnixDomainSocketAddress.of(pipes.resolve("control"));
    try (var daemon = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      daemon.bind(control);
      var wired = wire(1, Optional.empty(), mps, Set.of());
      assertThat(wired.extra().env()).containsEntry("CUDA_MPS_PIPE_DIRECTORY", pipes.toString());
      assertThat(wired.extra().binds())
          .contains(new BundleInput.Bind(pipes, pipes.toString(), true));
      assertThat(wired.names()).containsExactly("nvidia.com/gpu=0");
    }
    assertThat(control.getPath()).as("outlives the daemon").exists();
    assertThatThrownBy(() -> wire(1, Optional.empty(), mps, Set.of()))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class)
        .hasMessageContaining("no MPS daemon answers in " + pipes);
  }

  @Test
  @Timeout(30)
  void anMpsDaemonThatHangsIsNotWaitedFor() throws Exception {
    Path pipes = Files.createDirectory(directory.resolve("pipes"));
    var mps = mps(pipes);
    var control = UnixDomainSocketAddress.of(pipes.resolve("control"));
    var waiting = new ArrayList<SocketChannel>();
    try (var daemon = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      daemon.bind(control, 1);
      assertThatThrownBy(
              () -> {
                while (waiting.size() < 100) {
                  var channel = SocketChannel.open(StandardProtocolFamily.UNIX);
                  waiting.add(channel);
                  channel.configureBlocking(false);
                  boolean _ = channel.connect(control);
                }
              })
          .as("no room for another connection")
          .isInstanceOf(IOException.class);
      assertThatThrownBy(() -> wire(1, Optional.empty(), mps, Set.of()))
          .isInstanceOf(AgentException.GpuSharingUnavailable.class)
          .hasMessageContaining("no MPS daemon answers in " + pipes);
    } finally {
      for (SocketChannel channel : waiting) {
        channel.close();
      }
    }
  }

  @Test
  void aTimeSliceNamesItsDeviceAndPlan() throws Exception {
    Path plan = directory.resolve("plan");
    var slice = new Sharing.TimeSlice(OptionalInt.of(1), Optional.of(plan), Optional.empty());
    assertThatThrownBy(() -> wire(1, Optional.empty(), slice, Set.of()))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class)
        .hasMessageContaining("'time-slice'");

    Files.writeString(plan, "plan");
    var wired = wire(1, Optional.empty(), slice, Set.of());
    assertThat(wired.extra().env()).containsEntry("CUDA_VISIBLE_DEVICES", "0");
    assertThat(wired.devices()).extracting(DeviceNode::path).containsExactly("/dev/nvidia1");
    assertThat(wired.extra().binds())
        .contains(new BundleInput.Bind(plan, "/etc/nvidia/gpu-time-slicing.yaml", true));
  }

  private Sharing.Mps mps(Path pipes) throws IOException {
    return new Sharing.Mps(
        Optional.of(pipes),
        Optional.of(Files.createDirectory(directory.resolve("logs"))),
        OptionalLong.empty(),
        OptionalInt.empty());
  }

  private GpuWiring.Wired wire(
      int count, Optional<String> model, Sharing sharing, Set<String> taken)
      throws InterruptedException {
    var exclusive = new GpuRequest(1, "nvidia", Optional.empty(), new Sharing.Exclusive());
    return wiring.wire(
        new GpuRequest(count, "nvidia", model, sharing),
        taken.isEmpty()
            ? List.of()
            : List.of(new GpuUse(ContainerId.of("shop", "web", 1), exclusive, List.copyOf(taken))));
  }
}
