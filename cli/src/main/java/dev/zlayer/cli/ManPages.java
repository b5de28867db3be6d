package dev.zlayer.cli;

import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SequencedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/** The manual page of every verb, made from the verbs themselves. */
final class ManPages {
  private ManPages() {}

  /** Names of files of section 1, and their text for {@code man}. */
  static SequencedMap<String, String> of(CommandLine root, String version) {
    var pages = new TreeMap<String, String>();
    add(root, version, pages);
    return pages;
  }

  private static void add(CommandLine command, String version, Map<String, String> pages) {
    String page = page(command.getCommandSpec());
    pages.put(page + ".1", text(command, version));
    below(command).forEach(one -> add(one, version, pages));
  }

  /** Once each: aliases are other names of the same. */
  private static Stream<CommandLine> below(CommandLine command) {
    return new LinkedHashSet<>(command.getSubcommands().values()).stream();
  }

  private static String page(CommandSpec spec) {
    return spec.qualifiedName("-");
  }

  private static String text(CommandLine command, String version) {
    CommandSpec spec = command.getCommandSpec();
    var text = new StringBuilder();
    text.append(
        ".TH \"%s\" 1 \"\" \"zlayer %s\" \"zlayer manual\"%n"
            .formatted(escape(page(spec).toUpperCase(Locale.ROOT)), escape(version)));
    section(text, "NAME");
    text.append(escape(page(spec))).append(" \\- ").append(description(spec)).append('\n');
    section(text, "SYNOPSIS");
    text.append(".B ").append(escape(spec.qualifiedName())).append('\n');
    text.append(escape(arguments(spec))).append('\n');
    List<OptionSpec> options = CommandReference.options(spec);
    List<PositionalParamSpec> arguments = spec.positionalParameters();
    if (!arguments.isEmpty()) {
      section(text, "ARGUMENTS");
      arguments.forEach(one -> item(text, one.paramLabel(), one.description()));
    }
    if (!options.isEmpty()) {
      section(text, "OPTIONS");
      options.forEach(one -> item(text, CommandReference.names(one), one.description()));
    }
    if (!command.getSubcommands().isEmpty()) {
      section(text, "COMMANDS");
      below(command)
          .map(CommandLine::getCommandSpec)
          .forEach(one -> item(text, one.name(), one.usageMessage().description()));
    }
    String[] footer = spec.usageMessage().footer();
    if (footer.length > 0) {
      section(text, "NOTES");
      text.append(".nf\n");
      Arrays.stream(footer)
          .dropWhile(String::isEmpty)
          .forEach(line -> text.append(line(line)).append('\n'));
      text.append(".fi\n");
    }
    section(text, "SEE ALSO");
    text.append(
        Stream.concat(
                Stream.ofNullable(spec.parent()), below(command).map(CommandLine::getCommandSpec))
            .map(one -> escape(page(one)) + "(1)")
            .collect(Collectors.joining(", ", "", "\n")));
    return text.toString();
  }

  private static String arguments(CommandSpec spec) {
    String word = spec.subcommands().isEmpty() ? "" : "COMMAND ";
    String positional = CommandReference.synopsis(spec).substring(spec.qualifiedName().length());
    return word + "[OPTIONS]" + positional;
  }

  private static void section(StringBuilder text, String title) {
    text.append(".SH ").append(title).append('\n');
  }

  private static void item(StringBuilder text, String name, String... description) {
    text.append(".TP\n.B ").append(escape(name)).append('\n');
    text.append(line(String.join(" ", description))).append('\n');
  }

  private static String description(CommandSpec spec) {
    return escape(String.join(" ", spec.usageMessage().description()));
  }

  /** A dot or an apostrophe at the beginning would be a request to the formatter. */
  private static String line(String text) {
    return (text.startsWith(".") || text.startsWith("'") ? "\\&" : "") + escape(text);
  }

  private static String escape(String text) {
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq");
  }
}
