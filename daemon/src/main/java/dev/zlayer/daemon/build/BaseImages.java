package dev.zlayer.daemon.build;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Finds the images that a Dockerfile begins its stages with, or copies from. Pure. */
final class BaseImages {
  private static final Pattern VARIABLE =
      Pattern.compile("\\$(?:\\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?}|([A-Za-z_][A-Za-z0-9_]*))");
  private static final String FROM = "--from=";

  private BaseImages() {}

  /** In order; what names a stage or nothing at all is left out. */
  static List<ImageRef> of(String dockerfile, Map<String, String> arguments) {
    var values = new HashMap<String, String>();
    Set<String> stages = new HashSet<>();
    Set<ImageRef> images = new LinkedHashSet<>();
    for (String line : lines(dockerfile)) {
      String[] words = line.strip().split("\\s+", -1);
      switch (words[0].toUpperCase(Locale.ROOT)) {
        case "ARG" -> {
          String[] pair = line.strip().substring(3).strip().split("=", 2);
          String given = arguments.get(pair[0]);
          String usual = pair.length == 2 ? pair[1].replaceAll("^[\"']|[\"']$", "") : "";
          values.putIfAbsent(pair[0], given == null ? usual : given);
        }
        case "FROM" -> {
          var rest = new ArrayList<>(List.of(words).subList(1, words.length));
          rest.removeIf(word -> word.startsWith("--"));
          if (!rest.isEmpty()) {
            add(expand(rest.getFirst(), values), stages, images);
          }
          if (rest.size() == 3 && rest.get(1).equalsIgnoreCase("as")) {
            stages.add(rest.get(2).toLowerCase(Locale.ROOT));
          }
        }
        case "COPY", "ADD" -> {
          for (int i = 1; i < words.length && words[i].startsWith("--"); i++) {
            if (words[i].startsWith(FROM)) {
              add(expand(words[i].substring(FROM.length()), values), stages, images);
            }
          }
        }
        default -> {}
      }
    }
    return List.copyOf(images);
  }

  private static void add(String name, Set<String> stages, Set<ImageRef> images) {
    boolean stage =
        stages.contains(name.toLowerCase(Locale.ROOT)) || name.matches("[0-9]+|scratch|");
    if (!stage) {
      try {
        images.add(ImageRef.parse(name));
      } catch (AgentException.InvalidSpec _) {
        // the builder says what is wrong with it
      }
    }
  }

  /** Without comments, continued lines joined. */
  private static List<String> lines(String text) {
    var lines = new ArrayList<String>();
    var line = new StringBuilder();
    for (String part : text.lines().toList()) {
      if (part.strip().startsWith("#")) {
        continue;
      }
      boolean continued = part.stripTrailing().endsWith("\\");
      line.append(continued ? part.stripTrailing().replaceFirst("\\\\$", " ") : part);
      if (!continued) {
        lines.add(line.toString());
        line.setLength(0);
      }
    }
    lines.add(line.toString());
    return lines.stream().filter(one -> !one.isBlank()).toList();
  }

  private static String expand(String text, Map<String, String> values) {
    return VARIABLE
        .matcher(text)
        .replaceAll(
            found -> {
              String name = found.group(1) == null ? found.group(3) : found.group(1);
              String value = values.getOrDefault(name, "");
              String usual = found.group(2) == null ? "" : found.group(2);
              return Matcher.quoteReplacement(value.isEmpty() ? usual : value);
            });
  }
}
