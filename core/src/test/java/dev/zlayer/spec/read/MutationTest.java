package dev.zlayer.spec.read;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever happens to a valid file, the answer is a result: never an exception, never a wait. */
class MutationTest {
  private static final int ROUNDS = 80;
  private static final List<String> PIECES =
      List.of(
          "{",
          "}",
          "[",
          "]",
          ":",
          "- ",
          "&a ",
          "*a",
          "<<: ",
          "!!str ",
          "!pin ",
          "\t",
          "\n",
          "'",
          "\"",
          "|",
          ">",
          "?",
          "%",
          "@",
          "`",
          "~",
          "null",
          "true",
          "-1",
          "1e999",
          "0x1F",
          ".nan",
          "99999999999999999999",
          "\u0000",
          "\uFEFF",
          "é",
          "💥",
          "#",
          "---\n",
          "...\n",
          "\\",
          "$S:",
          "${E:");

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void neverThrows(long seed) {
    var random = new Random(seed);
    for (Path example : SpecFiles.in(SpecFiles.EXAMPLES)) {
      String original = SpecFiles.text(example);
      for (int round = 0; round < ROUNDS; round++) {
        String mutated = mutate(original, random);
        SpecResult result =
            SpecFiles.readQuickly(
                mutated.getBytes(StandardCharsets.UTF_8),
                "seed " + seed + " of " + example + ":\n" + mutated);
        if (result instanceof SpecResult.Invalid(var problems)) {
          assertThat(problems).isNotEmpty().allMatch(problem -> problem.line() >= 1);
          assertThat(problems).allMatch(problem -> !problem.message().contains("\n"));
        }
      }
    }
  }

  private static String mutate(String text, Random random) {
    String result = text;
    for (int i = random.nextInt(3); i >= 0; i--) {
      result = random.nextBoolean() ? mutateText(result, random) : mutateLines(result, random);
    }
    return result;
  }

  private static String mutateText(String text, Random random) {
    int at = random.nextInt(text.length() + 1);
    int end = Math.min(text.length(), at + random.nextInt(8));
    String piece = random.nextInt(3) == 0 ? "" : PIECES.get(random.nextInt(PIECES.size()));
    return text.substring(0, at) + piece + text.substring(end);
  }

  private static String mutateLines(String text, Random random) {
    var lines = new ArrayList<>(text.lines().toList());
    int one = random.nextInt(lines.size());
    int other = random.nextInt(lines.size());
    switch (random.nextInt(5)) {
      case 0 -> lines.remove(one);
      case 1 -> lines.add(other, lines.get(one));
      case 2 -> Collections.swap(lines, one, other);
      case 3 -> lines.set(one, "  " + lines.get(one));
      default -> lines.set(one, lines.get(one).replaceFirst("^ {2}", ""));
    }
    return String.join("\n", lines) + "\n";
  }
}
