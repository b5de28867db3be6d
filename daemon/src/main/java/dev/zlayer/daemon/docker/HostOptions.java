package dev.zlayer.daemon.docker;

import dev.zlayer.container.LogSpec;
import dev.zlayer.container.Resources;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.json.Json;
import dev.zlayer.spec.service.RestartPolicySpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Limits, rights, logs and restarts in the words of {@code HostConfig}. Pure. */
final class HostOptions {
  private static final double NANO = 1e9;
  private static final long PERIOD = 100_000;
  private static final long LEAST_MEMORY = 6L << 20;
  private static final int SHARES = 2;
  private static final Pattern SIZE =
      Pattern.compile("([0-9]{1,15}(?:\\.[0-9]{1,9})?) ?([kKmMgGtTpP]?)(?:i?[bB])?");
  private static final String OF_CONTAINER = "container:";

  /** Drivers of logs that Docker has and the agent has not. */
  private static final Set<String> DRIVERS =
      Set.of("awslogs", "fluentd", "gcplogs", "gelf", "journald", "splunk", "syslog");

  /** The driver of containers whose log nobody may read. */
  static final String NO_LOG = "none";

  private HostOptions() {}

  /** What is not said stays as in {@code before}. */
  static Resources resources(Json host, Resources before) {
    Optional<String> nodes = text(host, "CpusetMems");
    if (nodes.isPresent() && !nodes.get().equals(Machine.memoryNodes())) {
      throw DockerError.unsupportedField(
          "HostConfig.CpusetMems", "memory nodes cannot be chosen, all are used");
    }
    return new Resources(
        cpus(host, before),
        shares(host, before),
        text(host, "CpusetCpus").or(before::cpuset),
        memory(host, before),
        swap(host, before),
        positive(host, "MemoryReservation", before.memoryReservationBytes()),
        swappiness(host, before),
        pids(host, before),
        host.at("OomScoreAdj").integer().filter(value -> value != 0).isPresent()
            ? OptionalInt.of(host.at("OomScoreAdj").integer().orElseThrow().intValue())
            : before.oomScoreAdjust(),
        host.at("OomKillDisable").bool().orElse(before.oomKillDisabled()),
        host.at("BlkioWeight").integer().filter(value -> value > 0).isPresent()
            ? OptionalInt.of(host.at("BlkioWeight").integer().orElseThrow().intValue())
            : before.blockIoWeight(),
        ulimits(host, before),
        text(host, "CgroupParent").or(before::cgroupParent));
  }

  private static OptionalLong memory(Json host, Resources before) {
    OptionalLong memory = positive(host, "Memory", before.memoryBytes());
    if (memory.isPresent() && memory.getAsLong() < LEAST_MEMORY) {
      throw DockerError.badRequest("Minimum memory limit allowed is 6MB");
    }
    return memory;
  }

  private static OptionalDouble cpus(Json host, Resources before) {
    long nano = host.at("NanoCpus").integer().orElse(0L);
    long quota = host.at("CpuQuota").integer().orElse(0L);
    long period = host.at("CpuPeriod").integer().filter(value -> value > 0).orElse(PERIOD);
    if (nano < 0) {
      throw DockerError.badRequest("invalid value for NanoCpus: it is negative");
    }
    if (nano > 0 && quota > 0) {
      throw DockerError.badRequest(
          "Conflicting options: Nano CPUs and CPU Quota cannot both be set");
    }
    int processors = Runtime.getRuntime().availableProcessors();
    if (nano > processors * NANO) {
      throw DockerError.badRequest(
          "range of CPUs is from 0.01 to %1$d.00, as there are only %1$d CPUs available"
              .formatted(processors));
    }
    if (nano > 0) {
      return OptionalDouble.of(nano / NANO);
    }
    if (quota > 0) {
      return OptionalDouble.of((double) quota / period);
    }
    return quota < 0 ? OptionalDouble.empty() : before.cpus();
  }

  private static OptionalLong shares(Json host, Resources before) {
    long shares = host.at("CpuShares").integer().orElse(0L);
    if (shares < 0) {
      throw DockerError.badRequest(
          "invalid CPU shares (%d): value must be positive".formatted(shares));
    }
    return shares == 0 ? before.cpuShares() : OptionalLong.of(Math.max(shares, SHARES));
  }

  private static OptionalLong positive(Json host, String name, OptionalLong before) {
    long value = host.at(name).integer().orElse(0L);
    if (value < 0) {
      throw DockerError.badRequest("invalid value for %s: it is negative".formatted(name));
    }
    return value == 0 ? before : OptionalLong.of(value);
  }

  private static OptionalLong swap(Json host, Resources before) {
    long swap = host.at("MemorySwap").integer().orElse(0L);
    long memory =
        host.at("Memory")
            .integer()
            .filter(value -> value > 0)
            .orElse(before.memoryBytes().orElse(0));
    if (swap > 0 && memory == 0) {
      throw DockerError.badRequest(
          "You should always set the Memory limit when using Memoryswap limit, see usage");
    }
    if (swap > 0 && swap < memory) {
      throw DockerError.badRequest(
          "Minimum memoryswap limit should be larger than memory limit, see usage");
    }
    return swap == 0 ? before.memorySwapBytes() : OptionalLong.of(Math.max(swap, -1));
  }

  private static OptionalInt swappiness(Json host, Resources before) {
    Optional<Long> value = host.at("MemorySwappiness").integer().filter(given -> given != -1);
    if (value.isEmpty()) {
      return before.memorySwappiness();
    }
    if (value.get() < 0 || value.get() > 100) {
      throw DockerError.badRequest(
          "Invalid value: %d, valid memory swappiness range is 0-100".formatted(value.get()));
    }
    return OptionalInt.of(value.get().intValue());
  }

  private static OptionalLong pids(Json host, Resources before) {
    Optional<Long> limit = host.at("PidsLimit").integer();
    if (limit.isEmpty()) {
      return before.pids();
    }
    // 0 comes from clients that always send the field
    return limit.get() > 0
        ? OptionalLong.of(limit.get())
        : limit.get() < 0 ? OptionalLong.empty() : before.pids();
  }

  private static Map<String, Resources.Ulimit> ulimits(Json host, Resources before) {
    var all = new LinkedHashMap<>(before.ulimits());
    for (Json limit : host.at("Ulimits").items()) {
      String name =
          text(limit, "Name")
              .orElseThrow(() -> DockerError.badRequest("HostConfig.Ulimits: Name is absent"));
      all.put(
          name,
          new Resources.Ulimit(
              limit.at("Soft").integer().orElse(0L), limit.at("Hard").integer().orElse(0L)));
    }
    return all;
  }

  static SecuritySpec security(Json host, DockerContainerIndex index) {
    SecuritySpec.Seccomp seccomp = new SecuritySpec.Seccomp.Default();
    Optional<String> apparmor = Optional.empty();
    boolean noNewPrivileges = false;
    for (String option : host.at("SecurityOpt").strings()) {
      if (option.equals("seccomp=unconfined") || option.equals("seccomp:unconfined")) {
        seccomp = new SecuritySpec.Seccomp.Unconfined();
      } else if (SecuritySpec.apparmor(option).isPresent()) {
        apparmor = SecuritySpec.apparmor(option);
      } else if (Set.of("no-new-privileges", "no-new-privileges:true", "no-new-privileges=true")
          .contains(option)) {
        noNewPrivileges = true;
      } else if (!Set.of(
              "no-new-privileges:false",
              "no-new-privileges=false",
              "label=disable",
              "label:disable",
              "seccomp=builtin")
          .contains(option)) {
        throw DockerError.unsupportedField(
            "HostConfig.SecurityOpt",
            "'%s'".formatted(option.length() > 60 ? option.substring(0, 60) + "…" : option));
      }
    }
    return new SecuritySpec(
        host.at("CapAdd").strings(),
        host.at("CapDrop").strings(),
        seccomp,
        noNewPrivileges,
        host.at("Privileged").bool().orElse(false),
        namespace(host, "PidMode", Set.of("private"), index),
        namespace(host, "IpcMode", Set.of("private", "shareable"), index),
        host.at("Sysctls").stringMap(),
        devices(host),
        apparmor,
        users(host),
        uts(host),
        Optional.of(host.at("DeviceCgroupRules").strings()).filter(rules -> !rules.isEmpty()));
  }

  private static Optional<SecuritySpec.Namespace> uts(Json host) {
    return switch (text(host, "UTSMode").orElse("")) {
      case "" -> Optional.empty();
      case "host" -> Optional.of(new SecuritySpec.Namespace.Host());
      case String other -> throw DockerError.badRequest("invalid UTS mode: %s".formatted(other));
    };
  }

  private static Optional<SecuritySpec.Users> users(Json host) {
    return switch (text(host, "UsernsMode").orElse("")) {
      case "" -> Optional.empty();
      case "host" -> Optional.of(SecuritySpec.Users.HOST);
      case String other ->
          throw DockerError.unsupportedField("HostConfig.UsernsMode", "'%s'".formatted(other));
    };
  }

  private static SecuritySpec.Namespace namespace(
      Json host, String name, Set<String> own, DockerContainerIndex index) {
    String mode = text(host, name).orElse("");
    if (mode.isEmpty() || own.contains(mode)) {
      return new SecuritySpec.Namespace.Private();
    }
    if (mode.equals("host")) {
      return new SecuritySpec.Namespace.Host();
    }
    if (mode.startsWith(OF_CONTAINER)) {
      return new SecuritySpec.Namespace.Shared(
          index.enter(mode.substring(OF_CONTAINER.length())).id());
    }
    throw DockerError.unsupportedField("HostConfig." + name, "'%s'".formatted(mode));
  }

  private static List<SecuritySpec.Device> devices(Json host) {
    var devices = new ArrayList<SecuritySpec.Device>();
    for (Json device : host.at("Devices").items()) {
      String path = text(device, "PathOnHost").orElse("");
      String inside = text(device, "PathInContainer").orElse(path);
      String rights = text(device, "CgroupPermissions").orElse("rwm");
      if (!path.startsWith("/")) {
        throw DockerError.badRequest("HostConfig.Devices: '%s' is not a path".formatted(path));
      }
      if (!inside.startsWith("/")) {
        throw DockerError.badRequest("HostConfig.Devices: '%s' is not a path".formatted(inside));
      }
      devices.add(
          new SecuritySpec.Device(
              Path.of(path),
              rights.contains("r"),
              rights.contains("w"),
              rights.contains("m"),
              Optional.of(inside).filter(place -> !place.equals(path))));
    }
    return devices;
  }

  static LogSpec logs(Json host) {
    Json config = host.at("LogConfig");
    String driver = text(config, "Type").orElse("");
    if (DRIVERS.contains(driver)) {
      throw DockerError.unsupportedField("HostConfig.LogConfig.Type", "'%s'".formatted(driver));
    }
    if (!Set.of("", "json-file", "local", NO_LOG).contains(driver)) {
      throw DockerError.badRequest(
          "error looking up logging plugin %1$s: plugin \"%1$s\" not found".formatted(driver));
    }
    long size = LogSpec.DEFAULT.maxFileBytes();
    int files = LogSpec.DEFAULT.files();
    for (var option : config.at("Config").stringMap().entrySet()) {
      switch (option.getKey()) {
        case "max-size" -> size = bytes(option.getValue());
        case "max-file" -> files = number(option.getKey(), option.getValue());
        default ->
            throw DockerError.unsupportedField("HostConfig.LogConfig.Config", option.getKey());
      }
    }
    return new LogSpec(size, files);
  }

  /** A size with the units of Docker, which count in 1024s: {@code 10m}, {@code 1gb}. */
  static long bytes(String text) {
    Matcher size = SIZE.matcher(text.strip());
    if (!size.matches()) {
      throw DockerError.badRequest("invalid size: '%s'".formatted(text));
    }
    int power = "kmgtp".indexOf(size.group(2).toLowerCase(Locale.ROOT)) + 1;
    double value = Double.parseDouble(size.group(1));
    return (long) (size.group(2).isEmpty() ? value : value * Math.pow(1024, power));
  }

  private static int number(String name, String text) {
    try {
      int number = Integer.parseInt(text);
      if (number > 0) {
        return number;
      }
    } catch (NumberFormatException _) {
      // said below
    }
    throw DockerError.badRequest("%s is a number above 0, not '%s'".formatted(name, text));
  }

  /** For a change: {@code no} is a policy as well. */
  static RestartPolicySpec restartOrNone(Json host) {
    return restart(host)
        .orElseGet(
            () ->
                new RestartPolicySpec(
                    RestartPolicySpec.Kind.NO, Optional.empty(), Optional.empty()));
  }

  static Optional<RestartPolicySpec> restart(Json host) {
    Json policy = host.at("RestartPolicy");
    Optional<Integer> most =
        policy.at("MaximumRetryCount").integer().filter(count -> count != 0).map(Long::intValue);
    String name = text(policy, "Name").orElse("");
    if (most.isPresent() && !name.equals("on-failure")) {
      throw DockerError.badRequest(
          "invalid restart policy: maximum retry count can only be used with 'on-failure'");
    }
    if (most.filter(count -> count < 0).isPresent()) {
      throw DockerError.badRequest(
          "invalid restart policy: maximum retry count cannot be negative");
    }
    return switch (name) {
      case "", "no" -> Optional.empty();
      case "always" -> restart(RestartPolicySpec.Kind.ALWAYS, most);
      case "unless-stopped" -> restart(RestartPolicySpec.Kind.UNLESS_STOPPED, most);
      case "on-failure" -> restart(RestartPolicySpec.Kind.ON_FAILURE, most);
      default ->
          throw DockerError.badRequest(
              "invalid restart policy: unknown policy '%s'; use one of 'no', 'always', 'on-failure', or 'unless-stopped'"
                  .formatted(name));
    };
  }

  private static Optional<RestartPolicySpec> restart(
      RestartPolicySpec.Kind kind, Optional<Integer> most) {
    return Optional.of(new RestartPolicySpec(kind, most, Optional.empty()));
  }

  private static Optional<String> text(Json json, String name) {
    return json.at(name).string().filter(text -> !text.isEmpty());
  }
}
