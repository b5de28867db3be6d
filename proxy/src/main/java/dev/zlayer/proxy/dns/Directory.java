package dev.zlayer.proxy.dns;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.port.DeploymentNames.Range;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/**
 * Who has which name. A container sees the names of its own deployment and no other; which one that
 * is follows from the address that it asks from.
 */
final class Directory {
  /** What there is to say about a name. */
  sealed interface Finding {
    /** It is ours; without addresses nobody is healthy at the moment. */
    record Found(List<InetAddress> addresses) implements Finding {}

    /** It is ours and does not exist. */
    record Unknown() implements Finding {}

    /** It is for other servers to answer. */
    record Foreign() implements Finding {}
  }

  private static final Finding UNKNOWN = new Finding.Unknown();
  private static final Finding FOREIGN = new Finding.Foreign();
  private static final String SUFFIX = "." + DeploymentNames.DOMAIN;

  private final Map<String, Range> ranges = new ConcurrentHashMap<>();
  private final Map<String, Map<String, List<Member>>> services = new ConcurrentHashMap<>();

  private volatile DeploymentNames.Containers containers = (_, _, _) -> List.of();

  void containers(DeploymentNames.Containers containers) {
    this.containers = containers;
  }

  void service(Members members) {
    services.compute(
        members.service().deployment(),
        (_, known) -> {
          Map<String, List<Member>> all = known == null ? new ConcurrentHashMap<>() : known;
          all.put(lower(members.service().service()), members.members());
          return all;
        });
  }

  void remove(ServiceKey service) {
    services.computeIfPresent(
        service.deployment(),
        (_, known) -> {
          known.remove(lower(service.service()));
          return known.isEmpty() ? null : known;
        });
  }

  void range(String deployment, Range range) {
    ranges.put(deployment, range);
  }

  /** Its services stay known until they are removed: other nodes may have members of them. */
  void forget(String deployment) {
    ranges.remove(deployment);
  }

  /** The deployment in whose network an address is. */
  Optional<String> deployment(InetAddress client) {
    return ranges.entrySet().stream()
        .filter(entry -> contains(entry.getValue(), client))
        .map(Map.Entry::getKey)
        .findFirst();
  }

  Finding find(String deployment, String name) {
    return find(deployment, Optional.empty(), name);
  }

  /** {@code name} without the dot at its end. */
  Finding find(String deployment, Optional<InetAddress> client, String name) {
    String text = lower(name);
    if (deployment.startsWith(DeploymentNames.NETWORK)) {
      return inNetwork(deployment, client, text);
    }
    if (text.equals(DeploymentNames.DOMAIN)) {
      return UNKNOWN;
    }
    if (text.endsWith(SUFFIX)) {
      String own = "." + lower(deployment) + SUFFIX;
      return text.endsWith(own)
          ? known(deployment, text.substring(0, text.length() - own.length())).orElse(UNKNOWN)
          : UNKNOWN;
    }
    // "app" is ours, "cal.app" is somebody's: below the top nothing of ours may hide the world's
    return text.indexOf('.') < 0
        ? known(deployment, text).orElse(FOREIGN)
        : reverse(deployment, text).orElse(FOREIGN);
  }

  /**
   * Containers without a deployment, on a network that people named. An alias may have dots, and
   * then it is meant to hide that name of the world.
   */
  private Finding inNetwork(String key, Optional<InetAddress> client, String name) {
    List<InetAddress> found =
        containers.find(key.substring(DeploymentNames.NETWORK.length()), client, name);
    return found.isEmpty()
        ? reverse(key, name).orElseGet(() -> elsewhere(client))
        : new Finding.Found(found);
  }

  /** Names carry data to whoever serves their domain, so from internal networks none is asked. */
  private Finding elsewhere(Optional<InetAddress> client) {
    return client.filter(containers::enclosed).isPresent() ? UNKNOWN : FOREIGN;
  }

  /** {@code service}, {@code role.service}, {@code number.service}, {@code number.role.service}. */
  private Optional<Finding> known(String deployment, String name) {
    List<String> labels = Arrays.asList(name.split("\\.", -1)).reversed();
    List<Member> members = services.getOrDefault(deployment, Map.of()).get(labels.getFirst());
    if (members == null || labels.size() > 3) {
      return Optional.empty();
    }
    List<String> chosen = labels.subList(1, labels.size());
    Predicate<ContainerId> meant = id -> matches(id, chosen);
    if (!chosen.isEmpty() && members.stream().noneMatch(member -> meant.test(member.id()))) {
      return Optional.of(UNKNOWN);
    }
    return Optional.of(
        new Finding.Found(
            members.stream()
                .filter(Member::ready)
                .filter(member -> meant.test(member.id()))
                .flatMap(member -> member.addresses().stream())
                .distinct()
                .toList()));
  }

  private static boolean matches(ContainerId id, List<String> chosen) {
    String number = Integer.toString(id.replica());
    String role = lower(id.role());
    return switch (chosen.size()) {
      case 0 -> true;
      case 1 ->
          chosen.getFirst().equals(role)
              || (chosen.getFirst().equals(number) && role.equals(ContainerId.DEFAULT_ROLE));
      default -> chosen.getFirst().equals(role) && chosen.get(1).equals(number);
    };
  }

  /** Nobody outside knows the names of addresses in our networks. */
  private Optional<Finding> reverse(String deployment, String name) {
    String arpa = ".in-addr.arpa";
    Range range = ranges.get(deployment);
    if (range == null || !name.endsWith(arpa)) {
      return Optional.empty();
    }
    String[] parts = name.substring(0, name.length() - arpa.length()).split("\\.", -1);
    if (parts.length != 4) {
      return Optional.empty();
    }
    try {
      InetAddress address =
          Inet4Address.ofLiteral(String.join(".", Arrays.asList(parts).reversed()));
      return contains(range, address) ? Optional.of(UNKNOWN) : Optional.empty();
    } catch (IllegalArgumentException _) {
      return Optional.empty();
    }
  }

  private static boolean contains(Range range, InetAddress address) {
    if (!(address instanceof Inet4Address)) {
      return false;
    }
    int mask = range.prefixLength() == 0 ? 0 : -1 << (32 - range.prefixLength());
    return (number(address) & mask) == (number(range.network()) & mask);
  }

  private static int number(InetAddress address) {
    int number = 0;
    for (byte part : address.getAddress()) {
      number = number << 8 | (part & 0xff);
    }
    return number;
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }
}
