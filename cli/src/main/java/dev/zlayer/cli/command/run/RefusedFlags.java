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
          Map.entry("--ip", "addresses are given out; use --publish or a deployment's names"),
          Map.entry("--ip6", "addresses are given out; use --publish or a deployment's names"),
          Map.entry("--mac-address", "leave it out, the network gives one"),
          Map.entry("--dns-search", "use whole names"),
          Map.entry("--dns-option", "leave it out"),
          Map.entry("--domainname", "use --hostname with the whole name"),
          Map.entry("--health-cmd", "write a service with 'health' and bring it up"),
          Map.entry("--health-interval", "write a service with 'health' and bring it up"),
          Map.entry("--health-timeout", "write a service with 'health' and bring it up"),
          Map.entry("--health-retries", "write a service with 'health' and bring it up"),
          Map.entry("--health-start-period", "write a service with 'health' and bring it up"),
          Map.entry("--no-healthcheck", "leave it out, single containers are not checked"),
          Map.entry("--log-driver", "leave it out, output is kept and rotated"),
          Map.entry("--log-opt", "write a service with 'logs' and bring it up"),
          Map.entry("--gpus", "write a service with 'resources.gpu' and bring it up"),
          Map.entry("--shm-size", "use --tmpfs /dev/shm:size=SIZE"),
          Map.entry("--volumes-from", "name the volumes with --volume"),
          Map.entry("--volume-driver", "leave it out, volumes are directories"),
          Map.entry("--storage-opt", "leave it out"),
          Map.entry("--runtime", "set 'oci_runtime' in the daemon's configuration"),
          Map.entry("--isolation", "leave it out"),
          Map.entry("--uts", "leave it out"),
          Map.entry("--cgroupns", "leave it out"),
          Map.entry("--detach-keys", "leave with ^P^Q"),
          Map.entry("--sig-proxy", "leave it out, signals are passed on"),
          Map.entry("--attach", "leave it out, output is shown without --detach"),
          Map.entry("-a", "leave it out, output is shown without --detach"),
          Map.entry("--disable-content-trust", "leave it out"),
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
        .map(instead -> "'%s' is not honoured: %s".formatted(name, instead));
  }
}
