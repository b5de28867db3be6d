package dev.zlayer.runtime.oci;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The table of docs/security.md: what a default container of Docker is given, and what one here.
 */
final class DefaultsTable {
  static final String EQUAL = "equal";
  static final String STRICTER = "stricter";
  private static final String ABSENT = "none";

  /** What Docker 28 does and the engine of these tests may be too old for, and since when. */
  private static final Map<String, String[]> YOUNGER =
      Map.of(
          "path: /proc/interrupts",
          new String[] {"masked", "Docker since 28.0.2"},
          "path: /sys/devices/virtual/powercap",
          new String[] {"masked", "Docker since 24.0.7"},
          "path: " + ContainerView.THERMAL,
          new String[] {"masked", "Docker since 28.0.2; each that the host has"},
          "limit: open files",
          new String[] {
            "1024:524288", "what systemd gives a service; Docker's unit asks for no more since 25"
          });

  /** Why a row is as it is, where the values do not say so. */
  private static final Map<String, String> NOTES =
      Map.of(
          "process: no_new_privs", "no program with set-user-id gains rights",
          "process: processes at most", "`pids_limit` changes it",
          "process: AppArmor profile", "where the kernel uses AppArmor; `tools/vm-suite` checks it",
          "device rule: c 10:200", "a rule of runc itself before 1.2",
          "namespace: time", "Docker since 29, where the OCI runtime knows it",
          "namespace: user", "`userns_mode: private` gives one",
          "system calls: socket families", "Docker since 29 denies 38 (AF_ALG), too",
          "system calls: x32", "no distribution has programs for it");

  private final Map<String, String> theirs;
  private final Map<String, String> ours;

  DefaultsTable(Map<String, String> theirs, Map<String, String> ours) {
    this.theirs = theirs;
    this.ours = ours;
    YOUNGER.forEach((row, value) -> theirs.put(row, value[0]));
  }

  /** The rows of both; one that is missing gives nothing. */
  Set<String> rows() {
    Set<String> rows = new TreeSet<>(theirs.keySet());
    rows.addAll(ours.keySet());
    return rows;
  }

  /** "equal", "stricter", or what is weaker here. */
  String relation(String row) {
    String there = theirs.getOrDefault(row, ABSENT);
    String here = ours.getOrDefault(row, ABSENT);
    if (here.equals(there)) {
      return EQUAL;
    }
    return stricter(row.substring(0, row.indexOf(':')), row, there, here)
        ? STRICTER
        : "weaker: %s here, %s there".formatted(here, there);
  }

  private static boolean stricter(String kind, String row, String there, String here) {
    return switch (kind) {
      case "mount" -> here.equals(ABSENT) || restricted(there, here);
      case "device", "device rule", "setting" -> here.equals(ABSENT);
      case "capabilities" -> words(there).containsAll(words(here)) || here.equals(ABSENT);
      case "path" -> here.equals("masked") || there.matches("readable|writable|none");
      case "namespace" -> here.startsWith("its own");
      case "limit" -> lower(there, here);
      case "system calls" -> here.equals("killed") || here.startsWith("denied");
      case "process" ->
          switch (row) {
            case "process: no_new_privs" -> here.equals("1");
            case "process: processes at most" -> there.equals("max");
            case "process: descriptors" -> words(there).containsAll(words(here));
            default -> false;
          };
      default -> false;
    };
  }

  /** All that restricts the one restricts the other, and its size is no larger. */
  private static boolean restricted(String there, String here) {
    Set<String> one = new TreeSet<>(Arrays.asList(there.replace(' ', ',').split(",")));
    Set<String> other = new TreeSet<>(Arrays.asList(here.replace(' ', ',').split(",")));
    one.removeAll(List.of("rw"));
    return other.containsAll(one);
  }

  private static boolean lower(String there, String here) {
    if (there.contains("'") || here.contains("'")) {
      return false;
    }
    String[] one = there.split(":", 2);
    String[] other = here.split(":", 2);
    return number(other[0]) <= number(one[0]) && number(other[1]) <= number(one[1]);
  }

  private static long number(String limit) {
    return limit.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(limit);
  }

  private static Set<String> words(String value) {
    return Set.of(value.split(" ", -1));
  }

  /** As the page has it, with an empty line after it. */
  String markdown() {
    var text = new StringBuilder("| row | Docker | here | | |\n|---|---|---|---|---|\n");
    for (String row : rows()) {
      String note = YOUNGER.containsKey(row) ? YOUNGER.get(row)[1] : NOTES.getOrDefault(row, "");
      text.append(
          "| %s | %s | %s | %s | %s |\n"
              .formatted(
                  row,
                  theirs.getOrDefault(row, ABSENT),
                  ours.getOrDefault(row, ABSENT),
                  relation(row),
                  note));
    }
    return text.append('\n').toString();
  }
}
