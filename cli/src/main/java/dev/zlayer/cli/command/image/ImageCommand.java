package dev.zlayer.cli.command.image;

import dev.zlayer.cli.command.Group;

/** The verbs about images. */
public final class ImageCommand {
  private ImageCommand() {}

  public static Group group() {
    return new Group("image", "List, inspect, tag, remove, load and save images")
        .with("ls", ListCommand::new)
        .with("inspect", ImageInspectCommand::new)
        .with("history", HistoryCommand::new)
        .with("tag", TagCommand::new)
        .with("rm", ImageRemoveCommand::new)
        .with("prune", ImagePruneCommand::new)
        .with("load", LoadCommand::new)
        .with("save", SaveCommand::new)
        .with("import", ImportCommand::new)
        .with("fsck", FsckCommand::new);
  }
}
