package dev.zlayer.daemon.docker;

import dev.zlayer.container.ConnectionSpec;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;

/**
 * Links on the usual network, which has no name server: the other containers are in the file of
 * hosts and in variables, as they are when the container is made.
 *
 * @param hosts names and addresses
 */
record ContainerLinks(Map<String, String> hosts, Map<String, String> variables) {
  ContainerLinks {
    hosts = Map.copyOf(hosts);
    variables = Map.copyOf(variables);
  }

  /** All that a request names. */
  static List<ConnectionSpec.Link> asked(Json body) {
    return body.at("HostConfig").at("Links").strings().stream()
        .map(ConnectionSpec.Link::parse)
        .toList();
  }

  /**
   * Looks up who is linked.
   *
   * @param name of the container that links to the others
   * @param address of a container on the usual network; empty when it is not on it
   */
  static ContainerLinks of(
      List<ConnectionSpec.Link> links,
      String name,
      Function<String, ContainerFacts> containers,
      Function<ContainerFacts, String> address) {
    var hosts = new LinkedHashMap<String, String>();
    var variables = new LinkedHashMap<String, String>();
    for (ConnectionSpec.Link link : links) {
      ContainerFacts target = containers.apply(link.container());
      String ip = address.apply(target);
      if (ip.isEmpty()) {
        throw DockerError.badRequest(
            "cannot link to %s: it is not on network bridge".formatted(link.container()));
      }
      hosts.put(link.alias(), ip);
      hosts.put(target.name(), ip);
      hosts.put(target.id().substring(0, DockerContainerIndex.SHORT), ip);
      describe(target, ip, link.alias(), name, variables);
    }
    return new ContainerLinks(hosts, variables);
  }

  private static void describe(
      ContainerFacts target, String ip, String alias, String name, Map<String, String> variables) {
    String prefix = alias.toUpperCase(Locale.ROOT).replace('-', '_');
    var ports = new ArrayList<String>();
    for (String exposed : ContainerSummary.exposed(target)) {
      String[] port = exposed.split("/", 2);
      String at = "%s_PORT_%s_%s".formatted(prefix, port[0], port[1].toUpperCase(Locale.ROOT));
      String url = "%s://%s:%s".formatted(port[1], ip, port[0]);
      ports.add(url);
      variables.put(at, url);
      variables.put(at + "_ADDR", ip);
      variables.put(at + "_PORT", port[0]);
      variables.put(at + "_PROTO", port[1]);
    }
    if (!ports.isEmpty()) {
      variables.put(prefix + "_PORT", ports.getFirst());
    }
    variables.put(prefix + "_NAME", "/%s/%s".formatted(name, alias));
    ContainerJson.variables(target)
        .forEach(
            (variable, value) -> {
              if (!variable.equals("HOME") && !variable.equals("PATH")) {
                variables.put("%s_ENV_%s".formatted(prefix, variable), value);
              }
            });
  }
}
