package dev.zlayer.testkit.fake;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Images;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.Preparable;
import dev.zlayer.port.ProcessListing;
import dev.zlayer.port.Renamable;
import dev.zlayer.port.Updatable;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A runtime without containers, for tests of whatever drives one. It keeps the contract of {@link
 * ContainerRuntime} to the letter; a container's labels say what becomes of it:
 *
 * <ul>
 *   <li>{@code fake.exit=3}, {@code fake.signal=SEGV}, {@code fake.oom=true}: how it ends by itself
 *   <li>{@code fake.after=250ms}: when, counted from its start; at once without it
 *   <li>{@code fake.log}: what it prints, lines with {@code stderr:} in front on the other stream
 *   <li>{@code fake.ignore-term=true}, {@code fake.on.TERM=5}: what a signal does
 *   <li>{@code fake.fail=create,start,stop,remove,pull}, {@code fake.fail.times=1}: what goes wrong
 *   <li>{@code fake.exec=1}: the exit code of an exec
 * </ul>
 */
public final class FakeRuntime implements ContainerRuntime {
  private static final Capabilities CAPABILITIES =
      new Capabilities(
          Set.of(Platform.of("linux", "amd64")),
          Set.of(Capabilities.ArtifactKind.ROOT_FILE_SYSTEM),
          Set.of(
              Pausable.class,
              Preparable.class,
              Renamable.class,
              Updatable.class,
              ProcessListing.class));

  private final FakeWorld world;
  private final String name;
  private final Capabilities capabilities;

  public FakeRuntime(FakeWorld world) {
    this(world, "fake", CAPABILITIES);
  }

  private FakeRuntime(FakeWorld world, String name, Capabilities capabilities) {
    this.world = world;
    this.name = name;
    this.capabilities = capabilities;
  }

  /** Another name and other platforms, for tests with several runtimes. */
  public FakeRuntime serving(String name, Platform... platforms) {
    return new FakeRuntime(
        world,
        name,
        new Capabilities(Set.of(platforms), capabilities.artifacts(), capabilities.powers()));
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Capabilities capabilities() {
    return capabilities;
  }

  @Override
  public Images images() {
    return world.images();
  }

  @Override
  public Container create(ContainerId id, ContainerSpec spec) {
    try (var _ = world.lock()) {
      world.note("create", id);
      if (world.containers().containsKey(id)) {
        throw new AgentException.Conflict(
            "container '" + id + "' exists already: remove it first or choose another identity");
      }
      var state = new FakeState(world, id, spec);
      if (state.fails("pull")) {
        throw new AgentException.PullFailed(spec.image().familiar(), "the label fake.fail says so");
      }
      world.images().require(spec.image(), this);
      if (state.fails("create")) {
        throw new AgentException.CreateFailed(id.toString(), "the label fake.fail says so");
      }
      world.containers().put(id, state);
      world.changed();
      return new FakeContainer(state);
    }
  }

  @Override
  public Optional<Container> find(ContainerId id) {
    try (var _ = world.lock()) {
      return Optional.ofNullable(world.containers().get(id)).map(FakeContainer::new);
    }
  }

  @Override
  public List<Container> list() {
    try (var _ = world.lock()) {
      return world.containers().values().stream()
          .map(state -> (Container) new FakeContainer(state))
          .toList();
    }
  }
}
