package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

@Command(
    name = "image",
    description = "List, inspect, tag, remove, load and save images.",
    synopsisSubcommandLabel = "COMMAND")
public final class ImageCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  /** The verb with all verbs below it. */
  public static CommandLine of(Session session) {
    var command = new CommandLine(new ImageCommand());
    command.addSubcommand(new ListCommand(session));
    command.addSubcommand(new InspectCommand(session));
    command.addSubcommand(new HistoryCommand(session));
    command.addSubcommand(new TagCommand(session));
    command.addSubcommand(new RemoveCommand(session));
    command.addSubcommand(new PruneCommand(session));
    command.addSubcommand(new LoadCommand(session));
    command.addSubcommand(new SaveCommand(session));
    command.addSubcommand(new ImportCommand(session));
    command.addSubcommand(new FsckCommand(session));
    return command;
  }

  @Override
  public Integer call() {
    throw new ParameterException(
        spec.commandLine(),
        "say what to do with images: "
            + String.join(", ", spec.commandLine().getSubcommands().keySet()));
  }
}
