package dev.zlayer.runtime.oci.config;

import dev.zlayer.container.Resources;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The {@code linux.resources} part: limits and weights of the container's control group. */
public final class LinuxResources {
  private static final long PERIOD_MICROS = 100_000;
  private static final long MIN_MEMORY = 6L << 20;
  private static final long UNLIMITED = -1;
  private static final int MAX_CPUSET = 1024;

  /** The kernel gives out no more; crun does not understand -1. */
  private static final long MOST_PIDS = 1L << 22;

  private LinuxResources() {}

  private static final Pattern DEVICE_RULE =
      Pattern.compile("([acb]) ([0-9]{1,9}|\\*):([0-9]{1,9}|\\*) ([rwm]{1,3})");

  /** A rule that lets a container use devices, as {@code c 7:128 rwm}. */
  static Json deviceRule(String text) {
    Matcher rule = DEVICE_RULE.matcher(text);
    if (!rule.matches()) {
      throw new AgentException.InvalidSpec(
          "device rule '%s' is not a kind, numbers and rights such as c 7:128 rwm".formatted(text));
    }
    var json = Json.object().put("allow", true).put("type", rule.group(1));
    if (!rule.group(2).equals("*")) {
      json.put("major", Long.parseLong(rule.group(2)));
    }
    if (!rule.group(3).equals("*")) {
      json.put("minor", Long.parseLong(rule.group(3)));
    }
    return json.put("access", rule.group(4)).build();
  }

  static Json of(
      Resources wanted,
      KernelFacts host,
      List<DeviceNode> devices,
      List<String> deviceRules,
      boolean allDevices) {
    var rules = new ArrayList<Json>();
    rules.add(Json.object().put("allow", allDevices).put("access", "rwm").build());
    if (!allDevices) {
      devices.forEach(device -> rules.add(device.rule()));
      deviceRules.forEach(rule -> rules.add(deviceRule(rule)));
    }
    var all = Json.object().put("devices", rules);
    limits(wanted, host).members().forEach(all::put);
    if (wanted.pids().equals(OptionalLong.of(UNLIMITED))) {
      all.put("pids", Json.object().build()); // as a group is when it is new
    }
    return withoutEmpty(all.build());
  }

  /** crun wants the controller of a part even if that says nothing. */
  public static Json withoutEmpty(Json resources) {
    var members = new LinkedHashMap<>(resources.members());
    members.values().removeIf(part -> part.members().isEmpty() && part.items().isEmpty());
    return new Json.Obj(members);
  }

  /**
   * Without the device rules, which never change: also the form in which limits are updated, where
   * an empty part means that its limits go.
   */
  public static Json limits(Resources wanted, KernelFacts host) {
    return Json.object()
        .put("memory", memory(wanted, host))
        .put("cpu", cpu(wanted, host))
        .putIf("pids", pids(wanted, host))
        .put("blockIO", blockIo(wanted, host))
        .build();
  }

  private static Json memory(Resources wanted, KernelFacts host) {
    var memory = Json.object();
    OptionalLong limit = wanted.memoryBytes();
    if (limit.isPresent()) {
      need("memory", "a memory limit", host);
      require(
          limit.getAsLong() >= MIN_MEMORY,
          "memory limit %d is below the least that works, 6 MiB".formatted(limit.getAsLong()));
      memory.put("limit", limit.getAsLong());
    }
    swap(wanted, host).ifPresent(swap -> memory.put("swap", swap));
    wanted
        .memoryReservationBytes()
        .ifPresent(
            bytes -> {
              need("memory", "a memory reservation", host);
              require(
                  limit.isEmpty() || bytes <= limit.getAsLong(),
                  "the memory reservation %d is above the limit".formatted(bytes));
              memory.put("reservation", bytes);
            });
    wanted
        .memorySwappiness()
        .ifPresent(
            value -> {
              require(value >= 0 && value <= 100, "swappiness goes from 0 to 100, not " + value);
              host.cgroups().require("memory swappiness");
              refuse(host.cgroups().v2(), "memory swappiness: cgroup v2 has no such knob");
              memory.put("swappiness", value);
            });
    if (wanted.oomKillDisabled()) {
      host.cgroups().require("disabling the oom killer");
      refuse(host.cgroups().v2(), "disabling the oom killer: cgroup v2 has no such knob");
      memory.put("disableOOMKiller", true);
    }
    return memory.build();
  }

  /** Memory and swap together; as in Docker twice the memory when nothing is said. */
  private static OptionalLong swap(Resources wanted, KernelFacts host) {
    OptionalLong limit = wanted.memoryBytes();
    OptionalLong swap = wanted.memorySwapBytes();
    if (swap.isEmpty()) {
      return limit.isPresent() && host.cgroups().swap()
          ? OptionalLong.of(limit.getAsLong() * 2)
          : OptionalLong.empty();
    }
    host.cgroups().require("a swap limit");
    refuse(!host.cgroups().swap(), "a swap limit: this kernel does not account for swap");
    require(limit.isPresent(), "a swap limit needs a memory limit beside it");
    require(
        swap.getAsLong() == -1 || swap.getAsLong() >= limit.getAsLong(),
        "memory_swap is memory and swap together, so it cannot be below the memory limit");
    return swap;
  }

  private static Json cpu(Resources wanted, KernelFacts host) {
    var cpu = Json.object();
    wanted
        .cpuShares()
        .ifPresent(
            shares -> {
              need("cpu", "cpu shares", host);
              require(shares >= 2 && shares <= 262_144, "cpu shares go from 2 to 262144");
              cpu.put("shares", shares);
            });
    wanted
        .cpus()
        .ifPresent(
            cpus -> {
              need("cpu", "a cpu limit", host);
              require(cpus >= 0.01, "cpus has to be at least 0.01, not " + cpus);
              cpu.put("quota", Math.round(cpus * PERIOD_MICROS)).put("period", PERIOD_MICROS);
            });
    wanted
        .cpuset()
        .ifPresent(
            set -> {
              need("cpuset", "a set of cpus", host);
              require(
                  set.length() <= MAX_CPUSET && set.matches("[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*"),
                  "cpuset '%s' is not a list such as 0-2,4"
                      .formatted(set.substring(0, Math.min(set.length(), MAX_CPUSET))));
              cpu.put("cpus", set);
            });
    return cpu.build();
  }

  /** The bound that nobody asked for is left out where the kernel cannot have it. */
  private static Optional<Json> pids(Resources wanted, KernelFacts host) {
    long pids = wanted.pids().orElse(Resources.DEFAULT_PIDS);
    if (pids == Resources.DEFAULT_PIDS && !host.cgroups().has("pids")) {
      return Optional.empty();
    }
    need("pids", "a process limit", host);
    require(pids == UNLIMITED || pids > 0, "the process limit has to be above 0, or -1 for none");
    return Optional.of(Json.object().put("limit", pids == UNLIMITED ? MOST_PIDS : pids).build());
  }

  private static Json blockIo(Resources wanted, KernelFacts host) {
    var io = Json.object();
    wanted
        .blockIoWeight()
        .ifPresent(
            weight -> {
              host.cgroups().require("block I/O weight");
              require(weight >= 10 && weight <= 1000, "block I/O weight goes from 10 to 1000");
              refuse(
                  !host.cgroups().blockIoWeight(),
                  "block I/O weight: this kernel's I/O scheduler offers none");
              io.put("weight", weight);
            });
    return io.build();
  }

  private static void need(String controller, String what, KernelFacts host) {
    host.cgroups().require(what);
    refuse(
        !host.cgroups().has(controller),
        "%s: this host has no control group controller '%s'".formatted(what, controller));
  }

  private static void require(boolean right, String problem) {
    if (!right) {
      throw new AgentException.InvalidSpec(problem);
    }
  }

  private static void refuse(boolean impossible, String what) {
    if (impossible) {
      throw new AgentException.Unsupported(what);
    }
  }
}
