package dev.zlayer.runtime.wsl;

import dev.zlayer.container.GpuRequest;
import dev.zlayer.error.AgentException;
import java.util.Map;

/**
 * A GPU of Windows in a container: one device, and the libraries that talk to it. It cannot be
 * divided, so all who ask for one share it.
 *
 * @param device shown under the same name inside
 * @param libraries mounted read-only under the same name inside
 */
public record WslGpu(String device, String libraries, Map<String, String> environment) {
  private static final String DEVICE = "/dev/dxg";
  private static final String LIBRARIES = "/usr/lib/wsl/lib";

  public WslGpu {
    environment = Map.copyOf(environment);
  }

  /**
   * What a container needs for its request; looks into the distribution.
   *
   * @throws AgentException.WslGpuUnavailable the device or the libraries are missing there
   * @throws AgentException.GpuSharingUnavailable the request is about sharing that WSL has not
   */
  public static WslGpu of(GpuRequest request, WslDistribution distribution)
      throws InterruptedException {
    return plan(request, distribution.test("-e", DEVICE), distribution.test("-d", LIBRARIES));
  }

  static WslGpu plan(GpuRequest request, boolean device, boolean libraries) {
    switch (request.sharing()) {
      case GpuRequest.Sharing.Exclusive _ -> {}
      case GpuRequest.Sharing.Mps _ ->
          throw new AgentException.GpuSharingUnavailable("mps", "WSL shares its GPU by itself");
      case GpuRequest.Sharing.TimeSlice _ ->
          throw new AgentException.GpuSharingUnavailable(
              "time-slice", "WSL shares its GPU by itself");
    }
    if (!device) {
      throw new AgentException.WslGpuUnavailable(
          DEVICE
              + " is missing: update WSL with 'wsl --update' and install the GPU driver on"
              + " Windows");
    }
    if (!libraries) {
      throw new AgentException.WslGpuUnavailable(
          LIBRARIES
              + " is missing: install the GPU driver on Windows and run 'wsl --shutdown' once");
    }
    return new WslGpu(DEVICE, LIBRARIES, Map.of("LD_LIBRARY_PATH", LIBRARIES));
  }
}
