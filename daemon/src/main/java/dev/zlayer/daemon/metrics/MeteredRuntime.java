package dev.zlayer.daemon.metrics;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Images;
import dev.zlayer.task.Stopwatch;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Measures what a runtime does and changes nothing about it; handles are the runtime's own. */
public final class MeteredRuntime implements ContainerRuntime {
  private final ContainerRuntime runtime;
  private final MeteredImages images;
  private final Metrics metrics;

  public MeteredRuntime(ContainerRuntime runtime, Metrics metrics) {
    this.runtime = runtime;
    this.images = new MeteredImages(runtime.images(), metrics);
    this.metrics = metrics;
  }

  @Override
  public String name() {
    return runtime.name();
  }

  @Override
  public Capabilities capabilities() {
    return runtime.capabilities();
  }

  @Override
  public Images images() {
    return images;
  }

  @Override
  public Container create(ContainerId id, ContainerSpec spec) throws InterruptedException {
    var watch = Stopwatch.started();
    try {
      Container made = runtime.create(id, spec);
      tell("made", watch);
      return made;
    } catch (AgentException e) {
      tell(e.kind(), watch);
      throw e;
    }
  }

  private void tell(String result, Stopwatch watch) {
    metrics.took(
        "zlayer_container_create_seconds",
        "How long making a container took, by result.",
        Map.of("result", result),
        watch.passed());
  }

  @Override
  public Optional<Container> find(ContainerId id) {
    return runtime.find(id);
  }

  @Override
  public List<Container> list() {
    return runtime.list();
  }
}
