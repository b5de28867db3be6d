package dev.zlayer.runtime.oci.config;

import dev.zlayer.json.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The agent's own seccomp profile, the same on every host. What it allows is in the resource {@code
 * system-calls.txt}, which explains its form; here it becomes a profile as {@link SeccompFilter}
 * takes it.
 */
public final class DefaultSeccomp {
  private static final String RESOURCE = "system-calls.txt";
  private static final long EPERM = 1;

  /**
   * Which other system calls the kernel of an architecture has, for 32-bit programs. Not those of
   * x32, which no distribution builds programs for: libseccomp makes the filter anew for each
   * container, and a third of that time went into them. A process that makes one is killed.
   */
  private static final Map<String, List<String>> RELATED =
      Map.of(
          "X86_64", List.of("X86"),
          "AARCH64", List.of("ARM"),
          "S390X", List.of("S390"));

  private static final Json PROFILE = parse(text());

  private DefaultSeccomp() {}

  /** In the form that Docker's profiles have. */
  public static Json profile() {
    return PROFILE;
  }

  static Json parse(String text) {
    List<Json> rules = new ArrayList<>();
    Map<String, Json> conditions = new LinkedHashMap<>();
    for (String line : text.lines().map(String::strip).toList()) {
      if (line.startsWith("[")) {
        conditions = conditions(line.substring(1, line.length() - 1));
      } else if (!line.isEmpty() && !line.startsWith("#")) {
        List<String> names = new ArrayList<>();
        for (String word : line.split(" +", -1)) {
          names.addAll(expand(word));
        }
        var rule = new LinkedHashMap<String, Json>();
        rule.put("names", Json.of(names));
        rule.put("action", Json.of("SCMP_ACT_ALLOW"));
        rule.putAll(conditions);
        rules.add(new Json.Obj(rule));
      }
    }
    return Json.object()
        .put("defaultAction", "SCMP_ACT_ERRNO")
        .put("defaultErrnoRet", EPERM)
        .put("archMap", architectures())
        .put("syscalls", rules)
        .build();
  }

  private static List<Json> architectures() {
    List<Json> all = new ArrayList<>();
    RELATED.forEach(
        (own, related) ->
            all.add(
                Json.object()
                    .put("architecture", "SCMP_ARCH_" + own)
                    .put("subArchitectures", related.stream().map("SCMP_ARCH_"::concat).toList())
                    .build()));
    return all;
  }

  /** What a header says; a title says nothing. */
  private static Map<String, Json> conditions(String header) {
    var includes = Json.object();
    var excludes = Json.object();
    var result = new LinkedHashMap<String, Json>();
    for (String clause : header.split(", ", -1)) {
      List<String> words = List.of(clause.split(" ", -1));
      switch (words.getFirst()) {
        case "with" -> includes.put("caps", List.of("CAP_" + words.get(1)));
        case "without" -> excludes.put("caps", List.of("CAP_" + words.get(1)));
        case "on" ->
            includes.put(
                "arches",
                words.stream().skip(1).map(SeccompFilter::profileName).distinct().toList());
        case "kernel" -> includes.put("minKernel", words.get(1));
        case "fails" -> {
          result.put("action", Json.of("SCMP_ACT_ERRNO"));
          result.put("errnoRet", Json.of(Long.parseLong(words.get(1))));
        }
        case "argument" -> result.put("args", Json.of(List.of(argument(words))));
        default -> {
          return Map.of();
        }
      }
    }
    result.put("includes", includes.build());
    result.put("excludes", excludes.build());
    return result;
  }

  /** {@code argument N < VALUE}, {@code argument N = VALUE}, {@code argument N & MASK = VALUE}. */
  private static Json argument(List<String> words) {
    var argument = Json.object().put("index", Long.parseLong(words.get(1)));
    return switch (words.get(2)) {
      case "<" -> argument.put("value", number(words.get(3))).put("op", "SCMP_CMP_LT").build();
      case "=" -> argument.put("value", number(words.get(3))).put("op", "SCMP_CMP_EQ").build();
      case "&" ->
          argument
              .put("value", number(words.get(3)))
              .put("valueTwo", number(words.get(5)))
              .put("op", "SCMP_CMP_MASKED_EQ")
              .build();
      default -> throw new IllegalArgumentException(String.join(" ", words));
    };
  }

  private static long number(String text) {
    return Long.decode(text);
  }

  /** All the names that a word with braces stands for. */
  private static List<String> expand(String word) {
    int open = word.indexOf('{');
    if (open < 0) {
      return List.of(word);
    }
    int close = word.indexOf('}', open);
    List<String> names = new ArrayList<>();
    for (String part : word.substring(open + 1, close).split(",", -1)) {
      names.addAll(expand(word.substring(0, open) + part + word.substring(close + 1)));
    }
    return names;
  }

  private static String text() {
    try (var in = DefaultSeccomp.class.getResourceAsStream(RESOURCE)) {
      return new String(
          Objects.requireNonNull(in, RESOURCE).readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
