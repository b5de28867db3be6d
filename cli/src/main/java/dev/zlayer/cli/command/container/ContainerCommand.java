package dev.zlayer.cli.command.container;

import dev.zlayer.cli.command.Group;
import dev.zlayer.cli.command.system.ContainerPruneCommand;

/** The verbs about containers that have no place of their own. */
public final class ContainerCommand {
  private ContainerCommand() {}

  public static Group group() {
    return new Group("container", "List containers, their changed files, and remove stopped ones")
        .with("ls", PsCommand::new)
        .with("diff", ChangesCommand::new)
        .with("prune", ContainerPruneCommand::new);
  }
}
