package dev.zlayer.daemon.rest;

import dev.zlayer.container.ContainerId;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.runtime.oci.gpu.GpuUse;
import dev.zlayer.runtime.oci.gpu.Gpus;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/** The GPUs of this node. */
public final class GpusResource implements Resource {
  private final Optional<Gpus> gpus;

  /** A container that has it. */
  record GpuUser(String id, String name, String sharing) {
    static GpuUser of(GpuUse use) {
      ContainerId id = use.container();
      return new GpuUser(
          id.runtimeName(),
          id.deployment().equals(ContainerId.STANDALONE) ? id.service() : id.toString(),
          use.request().sharing().word());
    }
  }

  /**
   * One GPU, or one part of it.
   *
   * @param source driver when the agent described it, vendor when a device spec does
   */
  record GpuView(
      String name,
      String kind,
      Optional<String> model,
      Optional<String> uuid,
      Optional<String> bus,
      String source,
      OptionalLong memoryBytes,
      OptionalLong memoryUsedBytes,
      OptionalDouble percent,
      List<GpuUser> usedBy) {
    static GpuView of(Gpus.Listed gpu) {
      return new GpuView(
          gpu.name(),
          gpu.kind(),
          gpu.model(),
          gpu.uuid(),
          gpu.bus(),
          gpu.source(),
          gpu.memoryBytes(),
          gpu.memoryUsedBytes(),
          gpu.percent(),
          gpu.uses().stream().map(GpuUser::of).toList());
    }
  }

  /** Without any where no Linux containers run. */
  public GpusResource(Optional<Gpus> gpus) {
    this.gpus = gpus;
  }

  @Override
  public String title() {
    return "GPUs";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.view("/gpus", "List the GPUs with the containers that have them.", _ -> list())
            .givesMany(GpuView.class));
  }

  private ApiResponse list() throws InterruptedException {
    List<Gpus.Listed> listed = gpus.isPresent() ? gpus.get().list() : List.of();
    return ApiResponse.json(ViewJson.of(listed.stream().map(GpuView::of).toList()));
  }
}
