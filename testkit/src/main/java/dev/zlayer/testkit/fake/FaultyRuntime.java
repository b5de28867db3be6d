package dev.zlayer.testkit.fake;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Images;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A runtime that throws whatever a test wants, for as long as it wants. */
public final class FaultyRuntime implements ContainerRuntime {
  private final ContainerRuntime sound;
  private final AtomicInteger thrown = new AtomicInteger();
  private volatile @Nullable Supplier<? extends Throwable> fault;

  public FaultyRuntime(ContainerRuntime sound) {
    this.sound = sound;
  }

  /** From now on every call throws; an unchecked exception or an error. */
  public void fail(Supplier<? extends Throwable> fault) {
    this.fault = fault;
  }

  public void recover() {
    fault = null;
  }

  /** How many calls have failed. */
  public int thrown() {
    return thrown.get();
  }

  private ContainerRuntime sound() {
    Supplier<? extends Throwable> now = fault;
    if (now != null) {
      thrown.incrementAndGet();
      switch (now.get()) {
        case RuntimeException e -> throw e;
        case Error e -> throw e;
        case Throwable e -> throw new IllegalStateException(e);
      }
    }
    return sound;
  }

  @Override
  public String name() {
    return sound.name();
  }

  @Override
  public Capabilities capabilities() {
    return sound.capabilities();
  }

  @Override
  public Images images() {
    return sound().images();
  }

  @Override
  public Container create(ContainerId id, ContainerSpec spec) throws InterruptedException {
    return sound().create(id, spec);
  }

  @Override
  public Optional<Container> find(ContainerId id) {
    return sound().find(id);
  }

  @Override
  public List<Container> list() {
    return sound().list();
  }
}
