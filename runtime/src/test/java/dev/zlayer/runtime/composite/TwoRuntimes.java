package dev.zlayer.runtime.composite;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Images;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A node whose primary runs windows and whose delegate runs linux, as in the first design. */
final class TwoRuntimes {
  static final Platform LINUX = Platform.of("linux", "amd64");
  static final Platform WINDOWS = Platform.of("windows", "amd64");
  static final ImageRef APP = ImageRef.parse("registry.example/app:1");

  final FakeWorld primaryWorld = new FakeWorld(InstantSource.system());
  final FakeWorld delegateWorld = new FakeWorld(InstantSource.system());
  final Switchable primary =
      new Switchable(
          new FakeRuntime(primaryWorld).serving("hcs", WINDOWS, Platform.of("darwin", "arm64")));
  final Switchable delegate = new Switchable(new FakeRuntime(delegateWorld).serving("wsl", LINUX));
  final List<String> troubles = new ArrayList<>();
  private final Path records;

  TwoRuntimes(Path records) {
    this.records = records;
  }

  /** As a new agent would open it. */
  CompositeRuntime open() {
    return open(List.of(primary, delegate));
  }

  CompositeRuntime openWithoutDelegate() {
    return open(List.of(primary));
  }

  private CompositeRuntime open(List<ContainerRuntime> runtimes) {
    return CompositeRuntime.open(
        runtimes,
        FileDispatchRecords.open(records),
        (runtime, doing, trouble) -> troubles.add(runtime + ": " + doing));
  }

  /** Both have an image for this platform. */
  void bothHave(ImageRef image, Platform platform) {
    for (FakeWorld world : List.of(primaryWorld, delegateWorld)) {
      world.images().offer(image, platform);
      world.images().add(image);
    }
  }

  /** A runtime that can be made to not answer. */
  static final class Switchable implements ContainerRuntime {
    private final ContainerRuntime real;
    volatile boolean down;

    Switchable(ContainerRuntime real) {
      this.real = real;
    }

    private ContainerRuntime answering() {
      if (down) {
        throw new AgentException.Network("nobody listens");
      }
      return real;
    }

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
      return (Images)
          Proxy.newProxyInstance(
              Images.class.getClassLoader(),
              new Class<?>[] {Images.class},
              (_, method, arguments) -> {
                try {
                  return method.invoke(answering().images(), arguments);
                } catch (InvocationTargetException e) {
                  throw e.getCause();
                }
              });
    }

    @Override
    public Container create(ContainerId id, ContainerSpec spec) throws InterruptedException {
      return answering().create(id, spec);
    }

    @Override
    public Optional<Container> find(ContainerId id) {
      return answering().find(id);
    }

    @Override
    public List<Container> list() {
      return answering().list();
    }
  }
}
