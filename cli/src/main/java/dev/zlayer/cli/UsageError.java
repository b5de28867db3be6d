package dev.zlayer.cli;

import dev.zlayer.cli.command.OptionHints;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** What is wrong with the words of a command line, and what to write instead. Pure. */
final class UsageError {
  private UsageError() {}

  static String text(ParameterException error) {
    return switch (error) {
      case UnmatchedArgumentException unmatched ->
          advice(unmatched).orElseGet(() -> unknown(unmatched));
      case MissingParameterException missing -> missing(missing);
      default ->
          error.getArgSpec() == null || error.getValue() == null
              ? lowerCase(error)
              : unfit(error.getArgSpec(), error.getValue());
    };
  }

  /** A verb may know the word that was typed, and what to write instead. */
  private static Optional<String> advice(UnmatchedArgumentException error) {
    return error.getCommandLine().getCommand() instanceof OptionHints advising
        ? error.getUnmatched().stream().flatMap(word -> advising.advice(word).stream()).findFirst()
        : Optional.empty();
  }

  private static String unknown(UnmatchedArgumentException error) {
    String word = error.getUnmatched().getFirst();
    if (!error.isUnknownOption()) {
      return "unexpected argument '" + word + "'";
    }
    List<String> near = error.getSuggestions();
    return "unknown option '%s'%s"
        .formatted(word, near.isEmpty() ? "" : ", did you mean " + near.getFirst() + "?");
  }

  private static String missing(MissingParameterException error) {
    List<ArgSpec> missing = error.getMissing();
    if (!missing.isEmpty() && missing.stream().noneMatch(OptionSpec.class::isInstance)) {
      return missing.stream().map(ArgSpec::paramLabel).collect(Collectors.joining(" and "))
          + (missing.size() == 1 ? " is missing" : " are missing");
    }
    return missing.stream()
        .filter(OptionSpec.class::isInstance)
        .map(OptionSpec.class::cast)
        .map(option -> "%s needs a value: %s".formatted(option.longestName(), option.paramLabel()))
        .findFirst()
        .orElseGet(() -> lowerCase(error));
  }

  private static String unfit(ArgSpec place, String value) {
    String name = place instanceof OptionSpec option ? option.longestName() : place.paramLabel();
    Class<?> type = place.typeInfo().getType();
    if (type.isEnum()) {
      return "%s '%s' is not one of %s"
          .formatted(
              name,
              value,
              Arrays.stream(type.getEnumConstants())
                  .map(constant -> constant.toString().toLowerCase(Locale.ROOT))
                  .collect(Collectors.joining(", ")));
    }
    return "%s '%s' is not a number".formatted(name, value);
  }

  private static String lowerCase(ParameterException error) {
    String text = Objects.requireNonNullElse(error.getMessage(), "");
    return text.isEmpty() ? text : Character.toLowerCase(text.charAt(0)) + text.substring(1);
  }
}
