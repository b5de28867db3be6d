package dev.zlayer.daemon;

import dev.zlayer.container.ContainerId;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.runtime.cni.ContainerNetworks;
import java.net.InetAddress;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The names of containers without a deployment: on each network that a container is on, its name
 * and the aliases that it has there.
 */
record StandaloneNames(ContainerNetworks networks, ContainerRuntime runtime)
    implements DeploymentNames.Containers {
  private static final int SHORT_ID = 12;

  @Override
  public List<InetAddress> find(String network, Optional<InetAddress> client, String name) {
    List<InetAddress> linked =
        client.stream()
            .flatMap(address -> networks.linked(address, name).stream())
            .flatMap(link -> on(link.network(), known(link.container())).stream())
            .distinct()
            .toList();
    if (!linked.isEmpty()) {
      return linked;
    }
    Set<String> asked = new LinkedHashSet<>(List.of(network));
    client.ifPresent(address -> asked.addAll(networks.networksOf(address)));
    for (String one : asked) {
      List<InetAddress> found = on(one, name);
      if (!found.isEmpty()) {
        return found;
      }
    }
    return List.of();
  }

  @Override
  public boolean enclosed(InetAddress client) {
    return networks.enclosed(client);
  }

  /** Of a whole id as much as containers have as a name. */
  private static String known(String container) {
    String name = container.startsWith("/") ? container.substring(1) : container;
    return name.matches("[0-9a-f]{64}") ? name.substring(0, SHORT_ID) : name;
  }

  private List<InetAddress> on(String network, String name) {
    return runtime.list().stream()
        .filter(container -> container.id().deployment().equals(ContainerId.STANDALONE))
        .filter(container -> container.status().alive())
        .flatMap(container -> addresses(container, network, name).stream())
        .distinct()
        .toList();
  }

  private List<InetAddress> addresses(Container container, String network, String name) {
    try {
      return networks.memberships(container.id().runtimeName()).stream()
          .filter(one -> one.network().equals(network))
          .findFirst()
          .filter(one -> means(container, one, name))
          .map(ContainerNetworks.Member::addresses)
          .orElse(List.of());
    } catch (AgentException.NotFound _) {
      return List.of(); // removed meanwhile
    }
  }

  private static boolean means(Container container, ContainerNetworks.Member member, String name) {
    return member.aliases().stream().anyMatch(name::equalsIgnoreCase)
        || container.id().service().equalsIgnoreCase(name)
        || container.name().equalsIgnoreCase(name);
  }
}
