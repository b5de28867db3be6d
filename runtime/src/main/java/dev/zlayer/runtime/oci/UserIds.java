package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.IdRange;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Decides which containers have users of their own, and which numbers those have. Pure. */
public final class UserIds {
  /**
   * What the operator can set.
   *
   * @param usual whether containers have users of their own that do not say it
   * @param first where the numbers begin on the host
   * @param count how many there are for all containers together
   */
  public record Pool(boolean usual, long first, long count) {
    /** Between what systemd uses for its containers and what it keeps for others. */
    public static final Pool DEFAULT = new Pool(false, 1_879_048_192L, 268_304_384L);

    public Pool {
      if (first < IdRange.SIZE || count < IdRange.SIZE || first + count > 4_294_901_760L) {
        throw new AgentException.Configuration(
            "userns_pool %d:%d: begin at %d or later, end before 4294901760, and have room for one container (%d ids)"
                .formatted(first, count, IdRange.SIZE, IdRange.SIZE));
      }
    }

    int ranges() {
      return (int) (count / IdRange.SIZE);
    }
  }

  private UserIds() {}

  /**
   * Whether a container is to have users of its own.
   *
   * @throws AgentException.InvalidSpec it cannot, and somebody wants it to
   */
  static boolean wanted(ContainerSpec spec, boolean usual) {
    Optional<SecuritySpec.Users> users = spec.security().users();
    if (!users.map(SecuritySpec.Users.PRIVATE::equals).orElse(usual)) {
      return false;
    }
    refuseHostNamespaces(
        spec,
        users.isPresent()
            ? "userns_mode 'private' asks for"
            : "the agent gives by its setting 'userns: auto'");
    return true;
  }

  private static void refuseHostNamespaces(ContainerSpec spec, String why) {
    Optional<String> found = hostNamespace(spec);
    if (found.isPresent()) {
      throw new AgentException.InvalidSpec(
          "%s cannot be combined with users of its own, which %s; use userns_mode 'host'"
              .formatted(found.get(), why));
    }
  }

  private static Optional<String> hostNamespace(ContainerSpec spec) {
    SecuritySpec security = spec.security();
    if (security.privileged()) {
      return Optional.of("privileged");
    }
    if (security.pid() instanceof SecuritySpec.Namespace.Host) {
      return Optional.of("the pid namespace of the host");
    }
    if (security.ipc() instanceof SecuritySpec.Namespace.Host) {
      return Optional.of("the ipc namespace of the host");
    }
    return spec.network().mode() instanceof NetworkSpec.Mode.Host
        ? Optional.of("the network of the host")
        : Optional.empty();
  }

  /** Those that a container shares namespaces with; they have to have the same users. */
  static List<ContainerId> sharedWith(ContainerSpec spec) {
    var others = new ArrayList<ContainerId>();
    for (SecuritySpec.Namespace namespace : List.of(spec.security().pid(), spec.security().ipc())) {
      if (namespace instanceof SecuritySpec.Namespace.Shared(var with)) {
        others.add(with);
      }
    }
    if (spec.network().mode() instanceof NetworkSpec.Mode.Shared(var with)) {
      others.add(with);
    }
    return others;
  }

  /**
   * The users of those that namespaces are shared with: all have to have the same.
   *
   * @throws AgentException.InvalidSpec they have not, or not what the container is to have
   */
  static Optional<IdRange> shared(ContainerSpec spec, List<Optional<IdRange>> others) {
    Set<Optional<IdRange>> different = new HashSet<>(others);
    if (different.size() > 1) {
      throw new AgentException.InvalidSpec(
          "namespaces cannot be shared with containers that have different users");
    }
    Optional<IdRange> ids = others.getFirst();
    Optional<SecuritySpec.Users> wanted = spec.security().users();
    if (ids.isEmpty() && wanted.equals(Optional.of(SecuritySpec.Users.PRIVATE))) {
      throw new AgentException.InvalidSpec(
          "userns_mode 'private': the container that it shares namespaces with has the host's"
              + " users");
    }
    if (ids.isPresent() && wanted.equals(Optional.of(SecuritySpec.Users.HOST))) {
      throw new AgentException.InvalidSpec(
          "userns_mode 'host': the container that it shares namespaces with has users of its own");
    }
    if (ids.isPresent()) {
      refuseHostNamespaces(spec, "the container has that it shares namespaces with");
    }
    return ids;
  }

  /**
   * Numbers that no other container has. The search begins at a place that depends on the name, so
   * that numbers of a removed container are not the next one's at once, and a container that is
   * made again mostly has those it had.
   */
  static IdRange choose(Pool pool, String container, Set<IdRange> taken) {
    int start = Math.floorMod(container.hashCode(), pool.ranges());
    for (int i = 0; i < pool.ranges(); i++) {
      int number = (start + i) % pool.ranges();
      var range = new IdRange(pool.first() + (long) number * IdRange.SIZE);
      if (taken.stream().noneMatch(other -> overlap(range, other))) {
        return range;
      }
    }
    throw new AgentException.Unsupported(
        "users of its own: all %d ranges of userns_pool are in use; make it larger or remove containers"
            .formatted(pool.ranges()));
  }

  /** The pool may have been another one when the other was made. */
  private static boolean overlap(IdRange one, IdRange other) {
    return Math.abs(one.first() - other.first()) < IdRange.SIZE;
  }
}
