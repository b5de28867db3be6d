package dev.zlayer.daemon.rest;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.standalone.DisplayName;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Finds the container that somebody means. */
public final class ContainerLookup {
  private static final int SHORTEST_PREFIX = 3;

  /** What a name that was derived from an identity looks like; such a reference goes first. */
  private static final Pattern RUNTIME_NAME = Pattern.compile(".+-[0-9a-f]{16}");

  private final ContainerRuntime runtime;

  public ContainerLookup(ContainerRuntime runtime) {
    this.runtime = runtime;
  }

  /** The container that a request names, among those that its caller may see. */
  Container find(ApiRequest call) {
    if (call.deployment().isEmpty()) {
      return find(call.path("ref"));
    }
    String own = call.deployment().get();
    List<Container> visible =
        runtime.list().stream().filter(one -> one.id().deployment().equals(own)).toList();
    return find(call.path("ref"), visible);
  }

  /**
   * By its runtime name or a unique beginning of it, its own name, or {@code
   * deployment:service[:replica]}, where colons and slashes are the same.
   *
   * @throws AgentException.NotFound nothing is meant by it
   * @throws AgentException.InvalidSpec several are; they are named
   */
  public Container find(String reference) {
    Optional<Container> known = byFirstName(reference);
    if (known.isPresent()) {
      return known.get();
    }
    return find(reference, runtime.list());
  }

  private static Container find(String reference, List<Container> all) {
    String path = reference.replace(':', '/');
    boolean derived = RUNTIME_NAME.matcher(reference).matches();
    List<Predicate<Container>> ways =
        List.of(
            container -> derived && container.id().runtimeName().equals(reference),
            container -> own(container.id(), reference) && named(container, reference),
            container -> named(container, reference),
            container -> text(container.id()).equals(path),
            container -> anyGeneration(container.id(), path) && live(container),
            container -> anyGeneration(container.id(), path) && begun(container),
            container -> text(container.id()).startsWith(path + "/") && live(container),
            container -> text(container.id()).startsWith(path + "/") && begun(container),
            container ->
                reference.length() >= SHORTEST_PREFIX
                    && container.id().runtimeName().startsWith(reference)
                    && !formerName(container, reference));
    for (Predicate<Container> way : ways) {
      List<Container> meant = all.stream().filter(way).toList();
      if (meant.stream().map(one -> one.id().toString()).distinct().count() == 1) {
        return newest(meant);
      }
      if (meant.size() > 1) {
        throw new AgentException.InvalidSpec(
            "'%s' means several containers, write one of: %s"
                .formatted(
                    path,
                    names(meant).stream().sorted().limit(20).collect(Collectors.joining(", "))));
      }
    }
    throw new AgentException.NotFound(
        "container '" + path + "'", "'zlayer ps --all' lists those there are");
  }

  /** The usual case, which does not depend on how many containers there are. */
  private Optional<Container> byFirstName(String reference) {
    return reference.isBlank() || RUNTIME_NAME.matcher(reference).matches()
        ? Optional.empty()
        : runtime
            .find(ContainerId.of(ContainerId.STANDALONE, reference, 1))
            .filter(container -> named(container, reference));
  }

  private static boolean own(ContainerId id, String name) {
    return id.deployment().equals(ContainerId.STANDALONE) && id.service().equals(name);
  }

  /** The runtime name begins with the first name, which is no beginning of an id for that. */
  private static boolean formerName(Container container, String reference) {
    return own(container.id(), reference) && !named(container, reference);
  }

  /** By the name that it has now, which only the runtime knows. */
  private static boolean named(Container container, String name) {
    try {
      return DisplayName.matches(container, name);
    } catch (AgentException.NotFound _) {
      return false; // removed while we looked
    }
  }

  private static boolean live(Container container) {
    return container.status().alive();
  }

  /** The next container of a replica is not the one that people mean before it is started. */
  private static boolean begun(Container container) {
    return container.id().role().equals(ContainerId.JOB_ROLE)
        || !(container.status() instanceof ContainerStatus.Prepared);
  }

  /** People name a replica; which of its successive containers that is, they need not know. */
  private static boolean anyGeneration(ContainerId id, String path) {
    boolean execution = id.role().equals(ContainerId.JOB_ROLE) && id.toString().equals(path);
    return execution || id.withGeneration(0).path().equals(path);
  }

  /** The one before it may still stop, for example while its connections are drained. */
  private static Container newest(List<Container> generations) {
    return Collections.max(
        generations, Comparator.comparingLong((Container one) -> one.id().generation()));
  }

  /** With generations only where the rest is the same. */
  private static List<String> names(List<Container> meant) {
    List<String> names = meant.stream().map(one -> one.id().toString()).distinct().toList();
    return names.size() == meant.size()
        ? names
        : meant.stream().map(one -> text(one.id())).toList();
  }

  private static String text(ContainerId id) {
    return id.path();
  }
}
