package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerId;
import dev.zlayer.port.Container;

/** What people call a container: the name it was given, or else its identity. */
public final class DisplayName {
  private DisplayName() {}

  public static String of(ContainerDetails details) {
    return of(details.id(), details.name());
  }

  /** Found without inspecting it. */
  static String of(Container container) {
    return of(container.id(), container.name());
  }

  /** Whether people call it so; asked of every container there is, so it inspects none. */
  public static boolean matches(Container container, String name) {
    ContainerId id = container.id();
    String given = container.name();
    boolean possible = given.equals(name) || id.service().equals(name) || id.path().equals(name);
    return possible && of(id, given).equals(name);
  }

  private static String of(ContainerId id, String given) {
    if (!given.equals(id.runtimeName())) {
      return given;
    }
    return StandaloneContainers.standalone(id) ? id.service() : id.toString();
  }
}
