package dev.zlayer.runtime.oci;

import dev.zlayer.runtime.oci.config.CapabilitySet;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * What a container was given, as rows of a name and a value, from what {@code container-view.c}
 * prints inside it. Values are the same on every host: what a container has from its host is
 * replaced by words that say so.
 */
final class ContainerView {
  static final String THERMAL = "/sys/devices/system/cpu/cpu*/thermal_throttle";
  private static final String DAEMONS = "the daemon's";
  private static final long FILES = 524_288;
  private static final Set<String> RESTRICTIONS = Set.of("ro", "rw", "nosuid", "nodev", "noexec");
  private static final Pattern LIMIT = Pattern.compile("(Max [a-z ]+?) (\\S+) (\\S+)(?: [a-z]+)?");

  private final List<String[]> facts;
  private final Map<String, String> rows = new TreeMap<>();

  private ContainerView(String output) {
    facts =
        output.lines().map(line -> line.split("\t", 3)).filter(words -> words.length == 3).toList();
  }

  /**
   * @param masked the paths that the runtime was asked to mask
   * @param readOnly the paths that it was asked to make read-only
   */
  static Map<String, String> rows(
      String output, Collection<String> masked, Collection<String> readOnly) throws IOException {
    var view = new ContainerView(output);
    view.process();
    view.namespaces();
    view.limits();
    view.mounts();
    view.devices();
    view.hidden(masked, readOnly);
    return view.rows;
  }

  /** Files of the kernel that the container could write; they differ from host to host. */
  static Set<String> writable(String output) {
    return new ContainerView(output)
        .of("writes")
        .map(words -> words[1])
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private java.util.stream.Stream<String[]> of(String fact) {
    return facts.stream().filter(words -> words[0].equals(fact));
  }

  private String value(String fact) {
    return of(fact).map(words -> words[2].strip()).findFirst().orElse("none");
  }

  private String status(String key) {
    return of("status")
        .map(words -> words[2])
        .filter(line -> line.startsWith(key + ":"))
        .map(line -> line.substring(key.length() + 1).strip())
        .findFirst()
        .orElseThrow(() -> new AssertionError("no " + key + " in " + facts.size() + " facts"));
  }

  private void process() throws IOException {
    Map.of("Eff", "effective", "Prm", "permitted", "Inh", "inheritable")
        .forEach((key, name) -> capabilities("Cap" + key, name));
    capabilities("CapBnd", "bounding");
    capabilities("CapAmb", "ambient");
    rows.put("process: no_new_privs", status("NoNewPrivs"));
    rows.put("process: seccomp mode", status("Seccomp"));
    rows.put("process: AppArmor profile", appArmor());
    rows.put("process: user and group", first(status("Uid")) + ":" + first(status("Gid")));
    rows.put("process: supplementary groups", status("Groups"));
    rows.put("process: umask", status("Umask"));
    rows.put("process: securebits", value("securebits"));
    rows.put("process: oom_score_adj", value("oom"));
    rows.put("process: processes at most", value("pids"));
    rows.put("process: working directory", value("directory"));
    rows.put(
        "process: hostname",
        value("hostname").equals(Files.readString(Path.of("/proc/sys/kernel/hostname")).strip())
            ? "the host's"
            : "its own");
    rows.put("process: descriptors", join(of("descriptor").map(words -> words[1]).toList()));
    of("setting")
        .filter(words -> !words[1].endsWith("ip_forward")) // as the kernel makes a namespace
        .forEach(
            words -> rows.put("setting: " + words[1].replace("/proc/sys/", ""), words[2].strip()));
  }

  private void capabilities(String key, String name) {
    List<String> names = CapabilitySet.names(Long.parseUnsignedLong(status(key), 16));
    rows.put("capabilities: " + name, names.isEmpty() ? "none" : join(names));
  }

  /** A kernel without AppArmor confines nobody, which says nothing of the engine. */
  private String appArmor() throws IOException {
    Path switched = Path.of("/sys/module/apparmor/parameters/enabled");
    boolean used = Files.exists(switched) && Files.readString(switched).startsWith("Y");
    String profile = value("apparmor");
    return !used || profile.endsWith("-default (enforce)") ? "the engine's default" : profile;
  }

  private void namespaces() throws IOException {
    boolean unified = Files.exists(Path.of("/sys/fs/cgroup/cgroup.controllers"));
    for (String[] words : of("namespace").toList()) {
      if (!words[1].endsWith("_for_children")) {
        Path here = Path.of("/proc/self/ns", words[1]);
        boolean own = !Files.readSymbolicLink(here).toString().equals(words[2]);
        boolean asUsual = words[1].equals("cgroup") && own == unified;
        rows.put(
            "namespace: " + words[1],
            asUsual ? "its own with cgroup v2" : own ? "its own" : "the host's");
      }
    }
  }

  private void limits() throws IOException {
    Map<String, String> here = limits(Files.readAllLines(Path.of("/proc/self/limits")).stream());
    limits(of("limit").map(words -> words[2]))
        .forEach((name, value) -> rows.put("limit: " + name, limit(name, value, here.get(name))));
  }

  /** What is inherited says so; a host that allows fewer files than asked for is as good. */
  private static String limit(String name, String value, String here) {
    if (!name.equals("open files")) {
      return value.equals(here) ? DAEMONS : value;
    }
    String most = here.substring(here.indexOf(':') + 1);
    boolean lowered = value.equals("1024:" + most) && Long.parseLong(most) < FILES;
    return lowered ? "1024:" + FILES : value;
  }

  private static Map<String, String> limits(java.util.stream.Stream<String> lines) {
    var limits = new TreeMap<String, String>();
    lines.forEach(
        line -> {
          var limit = LIMIT.matcher(line.replaceAll(" +", " ").strip());
          if (limit.matches()) {
            limits.put(limit.group(1).substring(4), limit.group(2) + ":" + limit.group(3));
          }
        });
    return limits;
  }

  private void mounts() {
    var groups = new TreeSet<String>();
    for (String[] words : of("mount").toList()) {
      String[] fields = words[2].strip().split(" ", -1);
      String target = fields[4];
      int dash = List.of(fields).indexOf("-");
      String type = fields[dash + 1];
      if (target.startsWith("/sys/fs/cgroup")) {
        // read-only is told by the mount or by what lies below: a tmpfs that holds the groups
        groups.addAll(type.startsWith("cgroup") ? flags(fields[5]) : Set.of());
      } else if (!target.startsWith("/proc/") && !target.startsWith("/sys/")) {
        boolean fromHost = target.startsWith("/etc/");
        String options = fromHost || type.equals("overlay") ? "" : options(fields[dash + 3]);
        rows.put(
            "mount: " + target,
            (fromHost ? "a file of the engine" : type)
                + " "
                + String.join(",", flags(fields[5]))
                + options);
      }
    }
    rows.put("mount: /sys/fs/cgroup", "cgroup " + String.join(",", groups));
  }

  private static Set<String> flags(String options) {
    var flags = new TreeSet<>(List.of(options.split(",", -1)));
    flags.retainAll(RESTRICTIONS);
    return flags;
  }

  private static String options(String ofSuper) {
    return List.of(ofSuper.split(",", -1)).stream()
        .filter(option -> option.matches("(size|mode|gid|ptmxmode)=.*"))
        .sorted()
        .map(option -> "," + option)
        .collect(Collectors.joining());
  }

  private void devices() {
    of("node").forEach(words -> rows.put("device: " + words[1], words[2]));
    var rules = new TreeMap<String, List<String[]>>();
    of("opens").forEach(words -> rules.computeIfAbsent(major(words), ofMajor()).add(words));
    rules.forEach(
        (major, opened) -> {
          if (opened.size() > 10) { // all that were tried
            rows.put("device rule: " + major + ":*", opened.getFirst()[2]);
          } else {
            opened.forEach(words -> rows.put("device rule: " + words[1], words[2]));
          }
        });
    of("makes").forEach(words -> rows.put("device rule: " + words[1], words[2]));
  }

  private static String major(String[] words) {
    return words[1].substring(0, words[1].indexOf(':'));
  }

  private static Function<String, List<String[]>> ofMajor() {
    return _ -> new ArrayList<>();
  }

  /** What the engine asked for, and that it holds where the host has such a path. */
  private void hidden(Collection<String> masked, Collection<String> readOnly) {
    Map<String, String> seen =
        of("shows").collect(Collectors.toMap(words -> words[1], words -> words[2]));
    Set<String> writable =
        of("writes").map(words -> words[1]).collect(Collectors.toCollection(TreeSet::new));
    boolean cooled = seen.keySet().stream().anyMatch(path -> path.endsWith("thermal_throttle"));
    seen.forEach(
        (path, content) -> {
          String row = path.replaceFirst("/cpu\\d+/thermal_", "/cpu*/thermal_");
          boolean hides = masked.contains(path) && !content.equals("content");
          rows.merge("path: " + row, hides ? "masked" : "readable", ContainerView::weaker);
        });
    if (!cooled) { // nothing to mask: MachineTest holds which ones are found
      rows.put("path: " + THERMAL, "masked");
    }
    for (String path : readOnly) {
      boolean written = writable.stream().anyMatch(file -> file.startsWith(path));
      rows.put("path: " + path, written ? "writable" : "read-only");
    }
  }

  private static String weaker(String one, String other) {
    return one.equals("readable") ? one : other;
  }

  private static String first(String words) {
    return words.split(" ", 2)[0];
  }

  private static String join(List<String> words) {
    return String.join(" ", words);
  }
}
