package dev.zlayer.daemon.build;

import dev.zlayer.error.AgentException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Finds flags of {@code RUN}. The classic builder has none; those of BuildKit mount directories,
 * and versions of buildah follow links there to files of the host. What a builder takes for one
 * instruction depends on its version and on a directive for the escape character, so a text is read
 * in every such way, and one with a flag in any of them is refused. Pure.
 */
final class DockerfileFlags {
  private static final String BYTE_ORDER_MARK = "\uFEFF";

  private DockerfileFlags() {}

  static void refuse(String dockerfile) {
    String text = dockerfile.startsWith(BYTE_ORDER_MARK) ? dockerfile.substring(1) : dockerfile;
    List<String> lines = new ArrayList<>();
    for (String line : text.split("\n", -1)) {
      lines.add(line.endsWith("\r") ? line.substring(0, line.length() - 1) : line);
    }
    refuseIn(lines);
    for (char escape : new char[] {'\\', '`'}) {
      for (boolean indented : new boolean[] {true, false}) {
        for (boolean emptyEnds : new boolean[] {true, false}) {
          refuseIn(joined(lines, escape, indented, emptyEnds));
        }
      }
    }
  }

  private static void refuseIn(List<String> instructions) {
    for (String instruction : instructions) {
      if (hasFlag(instruction)) {
        throw new AgentException.InvalidSpec(
            ("'%s': RUN takes no flags such as --mount here; they belong to BuildKit, which is not"
                    + " part of this engine")
                .formatted(shown(instruction)));
      }
    }
  }

  /**
   * Instructions of several lines as one.
   *
   * @param indented whether a comment between continued lines may be indented
   * @param emptyEnds whether an empty line ends an instruction
   */
  private static List<String> joined(
      List<String> lines, char escape, boolean indented, boolean emptyEnds) {
    var instructions = new ArrayList<String>();
    var current = new StringBuilder();
    boolean inside = false;
    for (String line : lines) {
      String start = inside && !indented ? line : strip(line);
      boolean skipped = start.startsWith("#") || (inside && !emptyEnds && strip(line).isEmpty());
      if (!skipped) {
        int end = line.length();
        while (end > 0 && (line.charAt(end - 1) == ' ' || line.charAt(end - 1) == '\t')) {
          end--;
        }
        inside = end > 0 && line.charAt(end - 1) == escape;
        current.append(inside ? line.substring(0, end - 1) : line);
        if (!inside) {
          instructions.add(current.toString());
          current.setLength(0);
        }
      }
    }
    instructions.add(current.toString());
    return instructions;
  }

  /** Also behind {@code ONBUILD}, which has no flags of its own and does not hold another one. */
  private static boolean hasFlag(String instruction) {
    Optional<String> delayed = after(instruction, "ONBUILD");
    return delayed.filter(rest -> rest.startsWith("--")).isPresent()
        || after(delayed.orElse(instruction), "RUN")
            .filter(rest -> rest.startsWith("--"))
            .isPresent();
  }

  private static Optional<String> after(String instruction, String word) {
    String text = strip(instruction);
    boolean found =
        text.length() > word.length()
            && text.substring(0, word.length()).toUpperCase(Locale.ROOT).equals(word)
            && blank(text.charAt(word.length()));
    return found ? Optional.of(strip(text.substring(word.length()))) : Optional.empty();
  }

  private static String strip(String text) {
    int start = 0;
    int end = text.length();
    while (start < end && blank(text.charAt(start))) {
      start++;
    }
    while (end > start && blank(text.charAt(end - 1))) {
      end--;
    }
    return text.substring(start, end);
  }

  /** What the builder takes for space. */
  private static boolean blank(char letter) {
    return Character.isSpaceChar(letter) || "\t\n\u000B\f\r\u0085".indexOf(letter) >= 0;
  }

  private static String shown(String instruction) {
    String text = strip(instruction).replaceAll("\\s+", " ");
    return text.length() > 60 ? text.substring(0, 60) + "..." : text;
  }
}
