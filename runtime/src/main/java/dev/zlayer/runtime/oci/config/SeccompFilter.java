package dev.zlayer.runtime.oci.config;

import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Turns a profile in the form that container packages ship (rules that hold only with or without
 * certain capabilities, architectures or kernels) into the filter of the OCI configuration.
 */
final class SeccompFilter {
  /** What {@code uname -m} says, to what profiles call it. */
  private static final Map<String, String> PROFILE_NAMES =
      Map.of("x86_64", "amd64", "aarch64", "arm64", "i686", "x86", "armv7l", "arm");

  private static final Map<String, String> SECCOMP_NAMES =
      Map.of(
          "x86_64", "SCMP_ARCH_X86_64",
          "aarch64", "SCMP_ARCH_AARCH64",
          "i686", "SCMP_ARCH_X86",
          "armv7l", "SCMP_ARCH_ARM",
          "ppc64le", "SCMP_ARCH_PPC64LE",
          "s390x", "SCMP_ARCH_S390X",
          "riscv64", "SCMP_ARCH_RISCV64");

  private final String machine;
  private final String kernel;
  private final Set<String> capabilities;

  SeccompFilter(String machine, String kernel, List<String> capabilities) {
    this.machine = machine;
    this.kernel = kernel;
    this.capabilities = Set.copyOf(capabilities);
  }

  Json translate(Json profile) {
    var rules = new ArrayList<Json>();
    for (Json rule : profile.at("syscalls").items()) {
      if (applies(rule)) {
        rules.add(rule(rule));
      }
    }
    var result = new LinkedHashMap<String, Json>();
    result.put("defaultAction", profile.at("defaultAction"));
    copy(profile, "defaultErrnoRet", result);
    result.put("architectures", Json.of(architectures(profile)));
    copy(profile, "flags", result);
    result.put("syscalls", new Json.Arr(rules));
    return new Json.Obj(result);
  }

  private List<String> architectures(Json profile) {
    List<String> plain = profile.at("architectures").strings();
    if (!plain.isEmpty()) {
      return plain;
    }
    String own = SECCOMP_NAMES.getOrDefault(machine, "SCMP_ARCH_NATIVE");
    for (Json entry : profile.at("archMap").items()) {
      if (entry.at("architecture").string().filter(own::equals).isPresent()) {
        var all = new ArrayList<>(List.of(own));
        all.addAll(entry.at("subArchitectures").strings());
        return all;
      }
    }
    return own.equals("SCMP_ARCH_NATIVE") ? List.of() : List.of(own);
  }

  private boolean applies(Json rule) {
    Json includes = rule.at("includes");
    Json excludes = rule.at("excludes");
    List<String> arches = includes.at("arches").strings();
    return (arches.isEmpty() || arches.contains(profileName(machine)))
        && !excludes.at("arches").strings().contains(profileName(machine))
        && capabilities.containsAll(includes.at("caps").strings())
        && excludes.at("caps").strings().stream().noneMatch(capabilities::contains)
        && includes.at("minKernel").string().map(this::kernelAtLeast).orElse(true)
        && !excludes.at("minKernel").string().map(this::kernelAtLeast).orElse(false);
  }

  static String profileName(String machine) {
    return PROFILE_NAMES.getOrDefault(machine, machine);
  }

  private boolean kernelAtLeast(String minimum) {
    return java.util.Arrays.compare(version(kernel), version(minimum)) >= 0;
  }

  private static int[] version(String text) {
    String[] parts = text.split("[^0-9]+", -1);
    var version = new int[2];
    for (int i = 0; i < 2 && i < parts.length && !parts[i].isEmpty(); i++) {
      version[i] = Integer.parseInt(parts[i]);
    }
    return version;
  }

  private static Json rule(Json rule) {
    var result = new LinkedHashMap<String, Json>();
    List<String> names = rule.at("names").strings();
    result.put(
        "names",
        names.isEmpty() ? Json.of(rule.at("name").string().stream().toList()) : rule.at("names"));
    result.put("action", rule.at("action"));
    copy(rule, "errnoRet", result);
    if (!rule.at("args").items().isEmpty()) {
      result.put("args", rule.at("args"));
    }
    return new Json.Obj(result);
  }

  private static void copy(Json from, String name, Map<String, Json> to) {
    if (!from.at(name).isNull()) {
      to.put(name, from.at(name));
    }
  }
}
