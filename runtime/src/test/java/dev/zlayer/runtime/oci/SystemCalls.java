package dev.zlayer.runtime.oci;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What every system call came to, as {@code system-calls.c} prints it.
 *
 * @param theirs under the filter of the Docker Engine of these tests
 * @param ours under the filter of a default container here
 * @param open without a filter
 */
record SystemCalls(Map<String, String> theirs, Map<String, String> ours, Map<String, String> open) {
  /**
   * What Docker 28 allows and an engine of these tests may be too old for: name_to_handle_at,
   * process_vm_readv and _writev (since kernel 4.8), pkey_*, and what kernels from 5.1 on brought,
   * from pidfd_send_signal to futex_requeue.
   */
  private static final Set<String> YOUNGER =
      Set.of(
          "x86_64 303",
          "x86_64 310",
          "x86_64 311",
          "x86_64 329",
          "x86_64 330",
          "x86_64 331",
          "i386 341",
          "i386 347",
          "i386 348",
          "i386 380",
          "i386 381",
          "i386 382");

  /** The same numbers for every architecture. */
  private static final Set<Integer> YOUNGEST =
      Set.of(
          424, 434, 436, 437, 439, 441, 444, 445, 446, 447, 448, 449, 451, 452, 453, 454, 455, 456,
          457, 458, 462, 463, 464, 465, 466);

  /** What Docker has denied since: io_uring_setup, _enter and _register. */
  private static final Set<Integer> DENIED_SINCE = Set.of(425, 426, 427);

  /** Denied here alone: sockets of AF_ALG and of families that no kernel has, such as -1. */
  static final Set<String> STRICTER =
      Set.of(
          "x86_64 41",
          "i386 359",
          "family-38 x86_64 41",
          "family-46 x86_64 41",
          "family-47 x86_64 41",
          "family-48 x86_64 41",
          "family-49 x86_64 41");

  /** What Docker 28 makes of a call; a libseccomp that does not know a name denies it. */
  List<String> expected(String call) {
    if (call.startsWith("x32 ")) {
      return List.of("killed"); // there, some are allowed; no program makes them
    }
    int number = Integer.parseInt(call.substring(call.lastIndexOf(' ') + 1));
    if (DENIED_SINCE.contains(number) || call.equals("family-40 x86_64 41")) {
      return List.of("EPERM");
    }
    if (STRICTER.contains(call)) {
      return List.of("EPERM");
    }
    if (number == 450) { // set_mempolicy_home_node: an older filter ends before it
      return List.of("EPERM", "ENOSYS");
    }
    if (younger(call)) {
      return number > 452
          ? List.of(outcome(open.get(call)), "EPERM", "ENOSYS")
          : List.of(outcome(open.get(call)));
    }
    return List.of(outcome(theirs.get(call)));
  }

  boolean differs(String call) {
    return !expected(call).contains(outcome(ours.get(call)));
  }

  /** The rows of the table. */
  void describe(Map<String, String> rowsThere, Map<String, String> rowsHere) {
    for (String abi : List.of("x86_64", "i386")) {
      List<String> also = new ArrayList<>();
      ours.forEach(
          (call, result) -> {
            if (call.matches(abi + " \\d+") && differs(call)) {
              also.add(call + " " + outcome(result));
            }
          });
      rowsThere.put("system calls: " + abi, "the rules of 28");
      rowsHere.put("system calls: " + abi, also.isEmpty() ? "the rules of 28" : also.toString());
    }
    rowsThere.put("system calls: x32", "the rules of 28");
    rowsHere.put("system calls: x32", killed("x32 ") ? "killed" : "not all killed");
    rowsThere.put("system calls: socket families", "denied 40");
    rowsHere.put("system calls: socket families", deniedOf("family-", ours));
    rowsThere.put("system calls: clone flags", deniedOf("clone-flag-", theirs));
    rowsHere.put("system calls: clone flags", deniedOf("clone-flag-", ours));
  }

  private boolean killed(String prefix) {
    return ours.entrySet().stream()
        .filter(entry -> entry.getKey().startsWith(prefix))
        .allMatch(entry -> outcome(entry.getValue()).equals("killed"));
  }

  private static String deniedOf(String prefix, Map<String, String> results) {
    return results.entrySet().stream()
        .filter(entry -> entry.getKey().startsWith(prefix) && denied(entry.getValue()))
        .map(entry -> entry.getKey().substring(prefix.length()).split(" ", 2)[0])
        .map(Integer::valueOf)
        .sorted()
        .map(String::valueOf)
        .collect(Collectors.joining(" ", "denied ", ""));
  }

  private static boolean denied(String result) {
    return result.equals("1") || result.equals("38") || result.startsWith("signal");
  }

  /** A filter answers with one of two errors; any other end is that of a call that was made. */
  private static String outcome(String result) {
    return switch (result) {
      case "1" -> "EPERM";
      case "38" -> "ENOSYS";
      case "signal 31" -> "killed";
      default -> "allowed";
    };
  }

  private static boolean younger(String call) {
    String[] words = call.split(" ", -1);
    return YOUNGER.contains(call)
        || words.length == 2 && YOUNGEST.contains(Integer.parseInt(words[1]));
  }

  static Map<String, String> results(String output) {
    var results = new TreeMap<String, String>();
    int family = 0;
    for (String line : output.lines().toList()) {
      String[] words = line.split(" ", -1);
      if (words[0].equals("family")) {
        results.put("family-" + family++ + " " + words[1] + " " + words[2], rest(words, 3));
      } else if (words[0].startsWith("clone-flag")) {
        results.put(words[0] + " " + words[1] + " " + words[2], rest(words, 3));
      } else {
        results.put(words[0] + " " + words[1], rest(words, 2));
      }
    }
    return results;
  }

  private static String rest(String[] words, int from) {
    return String.join(" ", List.of(words).subList(from, words.length));
  }
}
