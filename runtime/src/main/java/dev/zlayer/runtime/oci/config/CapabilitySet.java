package dev.zlayer.runtime.oci.config;

import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.value.Capability;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Which capabilities a container has: Docker's default set, changed as the spec asks. */
public final class CapabilitySet {
  private static final String ALL = "ALL";

  private static final List<String> NAMES = Capability.NAMES;

  private static final List<String> DEFAULT =
      List.of(
          "CHOWN",
          "DAC_OVERRIDE",
          "FSETID",
          "FOWNER",
          "MKNOD",
          "NET_RAW",
          "SETGID",
          "SETUID",
          "SETFCAP",
          "SETPCAP",
          "NET_BIND_SERVICE",
          "SYS_CHROOT",
          "KILL",
          "AUDIT_WRITE");

  private CapabilitySet() {}

  /** The names in a bit mask as /proc tells it, without {@code CAP_}. */
  public static List<String> names(long mask) {
    var names = new ArrayList<String>();
    for (int bit = 0; bit < NAMES.size(); bit++) {
      if ((mask >>> bit & 1) == 1) {
        names.add(NAMES.get(bit));
      }
    }
    return names;
  }

  /** With {@code CAP_}, as OCI wants them. */
  static List<String> of(SecuritySpec security, long ownMask) {
    List<String> own = names(ownMask);
    if (security.privileged()) {
      return prefixed(own);
    }
    List<String> add = canonical(security.addCapabilities());
    List<String> drop = canonical(security.dropCapabilities());
    Set<String> result = new LinkedHashSet<>(DEFAULT);
    if (drop.contains(ALL)) {
      result.clear();
    }
    if (add.contains(ALL)) {
      result.addAll(own);
    }
    drop.forEach(result::remove);
    for (String name : add) {
      if (!name.equals(ALL)) {
        if (!own.contains(name)) {
          throw new AgentException.Unsupported(
              "capability %s: the agent itself does not have it; install its unit with 'zlayer daemon install --all-capabilities'"
                  .formatted(name));
        }
        result.add(name);
      }
    }
    result.retainAll(own);
    return prefixed(result);
  }

  private static List<String> canonical(List<String> names) {
    return names.stream()
        .map(
            name -> {
              String upper = name.strip().toUpperCase(Locale.ROOT);
              String bare = upper.startsWith("CAP_") ? upper.substring(4) : upper;
              if (!bare.equals(ALL) && !NAMES.contains(bare)) {
                throw new AgentException.InvalidSpec(
                    "'%s' is not a capability: write a name such as NET_ADMIN, or ALL"
                        .formatted(name));
              }
              return bare;
            })
        .toList();
  }

  private static List<String> prefixed(Iterable<String> names) {
    var result = new ArrayList<String>();
    names.forEach(name -> result.add("CAP_" + name));
    return result;
  }
}
