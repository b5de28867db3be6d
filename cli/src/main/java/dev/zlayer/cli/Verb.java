package dev.zlayer.cli;

import dev.zlayer.cli.command.CompletionsCommand;
import dev.zlayer.cli.command.InfoCommand;
import dev.zlayer.cli.command.SpecCommand;
import dev.zlayer.cli.command.ValidateCommand;
import dev.zlayer.cli.command.VersionCommand;
import dev.zlayer.cli.command.image.ImageCommand;
import dev.zlayer.cli.command.image.PullCommand;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Function;
import picocli.CommandLine;

/** Every verb with its place in the help. Only the verb that was typed is built. */
enum Verb {
  VALIDATE("validate", Group.DEPLOY, ValidateCommand::new),
  SPEC("spec", Group.DEPLOY, SpecCommand::new),
  PULL("pull", Group.IMAGE, PullCommand::new),
  IMAGE("image", Group.IMAGE, ImageCommand::of),
  INFO("info", Group.TOOL, InfoCommand::new),
  VERSION("version", Group.TOOL, VersionCommand::new),
  COMPLETIONS("completions", Group.TOOL, CompletionsCommand::new);

  /** Headings of the help text, in order. */
  enum Group {
    DEPLOY("Deployments"),
    IMAGE("Images"),
    TOOL("This tool and this node");

    final String heading;

    Group(String heading) {
      this.heading = heading;
    }
  }

  final String word;
  final Group group;

  @SuppressWarnings("ImmutableEnumChecker") // constructor references hold no state
  private final Function<Session, Object> maker;

  Verb(String word, Group group, Function<Session, Object> maker) {
    this.word = word;
    this.group = group;
    this.maker = maker;
  }

  /** The verb's grammar; a verb with verbs below it brings them along. */
  CommandLine make(Session session) {
    Object command = maker.apply(session);
    return command instanceof CommandLine whole ? whole : new CommandLine(command);
  }

  static Optional<Verb> find(String word) {
    return Arrays.stream(values()).filter(verb -> verb.word.equals(word)).findFirst();
  }
}
