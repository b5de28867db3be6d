package dev.zlayer.cli;

import dev.zlayer.cli.print.Markdown;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/** The reference of all verbs as Markdown, made from the verbs themselves. */
final class CommandReference {
  private static final String INTRODUCTION =
      """
      # Commands

      Made by `zlayer help --reference`; a test holds this file against the verbs.

      Things that run are named `deployment/service[/replica]`, or by name or id as `zlayer ps` shows
      them. Exit codes: 0 done, 1 zlayer or its set-up, 2 the request, 3 the workload, 4 something
      outside, 5 belongs on another node. `run`, `exec`, `attach`, `wait` and `job run --wait` return the
      code of what ran, 128 + n when signal n ended it.

      The daemon is found at `--socket` or by `--context`, else `ZLAYER_SOCKET`, else `ZLAYER_HOST`
      (`ssh://USER@HOST`; `tcp://HOST:PORT` with `ZLAYER_TOKEN_FILE` or `ZLAYER_TOKEN`;
      `https://HOST:PORT` with `ZLAYER_TLS_CA`, and `ZLAYER_TLS_CERT` with `ZLAYER_TLS_KEY`), else by
      `ZLAYER_CONTEXT`, else in the data directory `ZLAYER_DATA_DIR`, else by the context in use, else
      in the usual data directory (`/var/lib/zlayer` for root, `~/.local/share/zlayer` for others).
      `NO_COLOR` turns colours off.
      """;

  private CommandReference() {}

  static String markdown(Supplier<CommandLine> grammar) {
    var text = new StringBuilder(INTRODUCTION);
    CommandLine root = grammar.get();
    for (Verb.Heading heading : Verb.Heading.values()) {
      text.append("\n## ").append(heading.text).append('\n');
      Arrays.stream(Verb.values())
          .filter(verb -> verb.heading == heading)
          .flatMap(verb -> Stream.ofNullable(root.getSubcommands().get(verb.word)))
          .forEach(command -> describe(command, text));
    }
    return text.toString();
  }

  private static void describe(CommandLine command, StringBuilder text) {
    CommandSpec spec = command.getCommandSpec();
    if (spec.usageMessage().hidden()) {
      return;
    }
    if (!spec.subcommands().isEmpty()) {
      text.append("\n### ").append(spec.qualifiedName()).append("\n\n");
      text.append(String.join(" ", spec.usageMessage().description())).append('\n');
      new LinkedHashSet<>(command.getSubcommands().values())
          .forEach(below -> describe(below, text));
      return;
    }
    text.append("\n### ").append(synopsis(spec)).append("\n\n");
    text.append(String.join(" ", spec.usageMessage().description())).append('\n');
    List<OptionSpec> options = options(spec);
    if (!options.isEmpty() || !spec.positionalParameters().isEmpty()) {
      text.append("\n| | |\n|---|---|\n");
    }
    spec.positionalParameters().forEach(argument -> row(text, argument.paramLabel(), argument));
    options.forEach(option -> row(text, names(option), option));
    String[] footer = spec.usageMessage().footer();
    if (footer.length > 0) {
      text.append("\n```\n");
      Arrays.stream(footer)
          .dropWhile(String::isEmpty)
          .forEach(line -> text.append(line).append('\n'));
      text.append("```\n");
    }
  }

  static List<OptionSpec> options(CommandSpec spec) {
    return spec.options().stream()
        .filter(option -> !option.usageHelp() && !option.hidden())
        .sorted(Comparator.comparing(OptionSpec::longestName))
        .toList();
  }

  static String synopsis(CommandSpec spec) {
    var text = new StringBuilder(spec.qualifiedName());
    for (PositionalParamSpec argument : spec.positionalParameters()) {
      boolean optional = argument.arity().min() == 0;
      boolean several = argument.arity().isVariable();
      String label = argument.paramLabel() + (several ? "..." : "");
      text.append(' ').append(optional ? "[" + label + "]" : label);
    }
    return text.toString();
  }

  static String names(OptionSpec option) {
    String names = String.join(", ", option.names());
    return option.arity().max() == 0 ? names : names + " " + option.paramLabel();
  }

  private static void row(StringBuilder text, String name, ArgSpec argument) {
    text.append(
        "| `%s` | %s |%n"
            .formatted(name.replace("|", "\\|"), Markdown.cell(argument.description())));
  }
}
