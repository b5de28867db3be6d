package dev.zlayer.daemon;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Images;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Makes no containers while something forbids it, such as a full disk; all else is the runtime's.
 *
 * @param obstacle why none can be made at the moment
 */
record AdmittingRuntime(ContainerRuntime runtime, Supplier<Optional<String>> obstacle)
    implements ContainerRuntime {
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
    return runtime.images();
  }

  @Override
  public Container create(ContainerId id, ContainerSpec spec) throws InterruptedException {
    Optional<String> problem = obstacle.get();
    if (problem.isPresent()) {
      throw new AgentException.Busy(problem.get());
    }
    return runtime.create(id, spec);
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
