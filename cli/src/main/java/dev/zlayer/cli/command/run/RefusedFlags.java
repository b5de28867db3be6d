package dev.zlayer.cli.command.run;

import java.util.Map;
import java.util.Optional;

/** Docker's flags that are not honoured, and what to write instead. */
final class RefusedFlags {
  private static final Map<String, String> ADVICE =
      Map.ofEntries(
          Map.entry("--publish-all", "publish each port with --publish"),
          Map.entry("-P", "publish each port with --publish"),
          Map.entry("--link", "use --add-host, or services of one deployment"),
          Map.entry("--network-alias", "use a deployment: its services know each other by name"),
          Map.entry("--ip", "addresses are assigned; use --publish or a deployment's names"),
          Map.entry("--ip6", "addresses are assigned; use --publish or a deployment's names"),
          Map.entry("--mac-address", "omit it; the network assigns one"),
          Map.entry("--dns-search", "use fully qualified names"),
          Map.entry("--dns-option", "omit it"),
          Map.entry("--domainname", "use --hostname with the whole name"),
          Map.entry("--log-driver", "omit it; output is kept and rotated"),
          Map.entry("--log-opt", "write a service with 'logs' and deploy it with 'zlayer up'"),
          Map.entry("--shm-size", "use --tmpfs /dev/shm:size=SIZE"),
          Map.entry("--volumes-from", "name the volumes with --volume"),
          Map.entry("--volume-driver", "omit it; volumes are directories"),
          Map.entry("--storage-opt", "omit it"),
          Map.entry("--runtime", "set 'oci_runtime' in the daemon's configuration"),
          Map.entry("--isolation", "omit it"),
          Map.entry("--uts", "omit it"),
          Map.entry("--cgroupns", "omit it"),
          Map.entry("--detach-keys", "detach with ^P^Q"),
          Map.entry("--sig-proxy", "omit it; signals are forwarded"),
          Map.entry("--attach", "omit it; output is shown without --detach"),
          Map.entry("-a", "omit it; output is shown without --detach"),
          Map.entry("--disable-content-trust", "omit it"),
          Map.entry("--cpu-period", "use --cpus"),
          Map.entry("--cpu-quota", "use --cpus"),
          Map.entry("--cpuset-mems", "use --cpuset-cpus"),
          Map.entry("--kernel-memory", "use --memory"),
          Map.entry("--device-read-bps", "use --blkio-weight"),
          Map.entry("--device-write-bps", "use --blkio-weight"));

  private RefusedFlags() {}

  /** What to do about a flag as it was typed, with or without its value. */
  static Optional<String> advice(String typed) {
    String name = typed.replaceFirst("=.*", "");
    return Optional.ofNullable(ADVICE.get(name))
        .map(instead -> "'%s' is not supported: %s".formatted(name, instead));
  }
}
