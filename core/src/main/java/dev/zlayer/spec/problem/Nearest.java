package dev.zlayer.spec.problem;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** Guesses which known word a mistyped one was meant to be. */
public final class Nearest {
  private static final int LONGEST = 64;
  private static final int MOST_SHOWN = 20;

  private Nearest() {}

  /** The nearest known word, unless even that one is too far away to be meant. */
  public static Optional<String> to(String typed, Collection<String> known) {
    if (typed.length() > LONGEST) {
      return Optional.empty();
    }
    String word = normal(typed);
    int tolerance = Math.max(1, Math.min(3, word.length() / 3));
    record Candidate(String word, int distance) {}
    return known.stream()
        .map(candidate -> new Candidate(candidate, distance(word, normal(candidate))))
        .filter(candidate -> candidate.distance() <= tolerance)
        .min(Comparator.comparingInt(Candidate::distance).thenComparing(Candidate::word))
        .map(Candidate::word);
  }

  /** {@code , did you mean 'x'?} or the list of what is known when nothing is near. */
  public static String hint(String typed, Collection<String> known) {
    return to(typed, known)
        .map(word -> ", did you mean '" + word + "'?")
        .orElseGet(() -> ", write one of: " + shown(known));
  }

  private static String shown(Collection<String> known) {
    String words = known.stream().limit(MOST_SHOWN).collect(Collectors.joining(", "));
    return known.size() > MOST_SHOWN ? words + ", ..." : words;
  }

  private static String normal(String word) {
    return word.toLowerCase(Locale.ROOT).replace('-', '_');
  }

  /** Insertions, deletions, replacements and swaps of neighbours. */
  private static int distance(String a, String b) {
    int[][] cost = new int[a.length() + 1][b.length() + 1];
    for (int i = 0; i <= a.length(); i++) {
      for (int j = 0; j <= b.length(); j++) {
        if (i == 0 || j == 0) {
          cost[i][j] = i + j;
          continue;
        }
        int replace = cost[i - 1][j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        cost[i][j] = Math.min(replace, Math.min(cost[i - 1][j], cost[i][j - 1]) + 1);
        boolean swapped =
            i > 1
                && j > 1
                && a.charAt(i - 1) == b.charAt(j - 2)
                && a.charAt(i - 2) == b.charAt(j - 1);
        if (swapped) {
          cost[i][j] = Math.min(cost[i][j], cost[i - 2][j - 2] + 1);
        }
      }
    }
    return cost[a.length()][b.length()];
  }
}
