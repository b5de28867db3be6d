package dev.zlayer.runtime.oci.gpu;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.GpuRequest;
import java.util.List;

/**
 * What a container has of the GPUs, running or not.
 *
 * @param devices as they are qualified, such as {@code nvidia.com/gpu=0}
 */
public record GpuUse(ContainerId container, GpuRequest request, List<String> devices) {
  public GpuUse {
    devices = List.copyOf(devices);
  }

  boolean exclusive() {
    return request.sharing() instanceof GpuRequest.Sharing.Exclusive;
  }
}
