package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.port.Container;

/**
 * What people call a container: the name it was given, or else its identity; the execution that
 * runs in one that was made ahead.
 */
public final class DisplayName {
  /** Label of a container of a job that was made before it was known which execution gets it. */
  private static final String EXECUTION_NAME = "com.zlayer.name";

  private DisplayName() {}

  public static String of(ContainerDetails details) {
    return of(details.id(), details.name(), details.spec());
  }

  /** Found without inspecting it. */
  static String of(Container container) {
    return of(container.id(), container.name(), container.spec());
  }

  /** Whether people call it so; asked of every container there is, so it inspects none. */
  public static boolean matches(Container container, String name) {
    ContainerId id = container.id();
    String given = container.name();
    boolean possible =
        given.equals(name) || id.service().equals(name) || id.path().equals(name) || id.prepared();
    return possible && of(id, given, container.spec()).equals(name);
  }

  private static String of(ContainerId id, String given, ContainerSpec spec) {
    if (!given.equals(id.runtimeName())) {
      return given;
    }
    if (id.prepared()) {
      return spec.labels().getOrDefault(EXECUTION_NAME, id.toString());
    }
    return StandaloneContainers.standalone(id) ? id.service() : id.toString();
  }
}
