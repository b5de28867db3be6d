package dev.zlayer.spec.bind;

import java.util.List;
import java.util.function.Function;

/**
 * A type written as one text.
 *
 * @param is what it is: "a size"
 * @param pattern roughly what the parser accepts, for editors; may be empty
 * @param number whether a bare number is also accepted
 * @param parse throws {@code InvalidSpec} that says what to write
 * @param list whether a list of texts is accepted, by {@code parseList}
 */
public record ValueForm(
    String is,
    String example,
    String pattern,
    boolean number,
    Function<String, Object> parse,
    boolean list,
    Function<List<String>, Object> parseList) {
  static ValueForm text(
      String is, String example, String pattern, boolean number, Function<String, Object> parse) {
    return new ValueForm(is, example, pattern, number, parse, false, words -> words);
  }
}
