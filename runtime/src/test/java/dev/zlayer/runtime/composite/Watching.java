package dev.zlayer.runtime.composite;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Images;
import java.util.List;
import java.util.Optional;

/** Fails every create, after something was done that a test wants at that moment. */
record Watching(ContainerRuntime real, Runnable atCreate) implements ContainerRuntime {
  @Override
  public String name() {
    return real.name();
  }

  @Override
  public Capabilities capabilities() {
    return real.capabilities();
  }

  @Override
  public Images images() {
    return real.images();
  }

  @Override
  public Container create(ContainerId id, ContainerSpec spec) {
    atCreate.run();
    throw new AgentException.CreateFailed(id.toString(), "the test wants it so");
  }

  @Override
  public Optional<Container> find(ContainerId id) {
    return real.find(id);
  }

  @Override
  public List<Container> list() {
    return real.list();
  }
}
