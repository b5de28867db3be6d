package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.command.Group;

/** The verbs about nodes of the cluster. */
public final class NodeCommand {
  private NodeCommand() {}

  public static Group group() {
    return new Group("node", "List, label, drain and remove nodes of the cluster")
        .with("ls", NodeListCommand::new)
        .with("inspect", NodeInspectCommand::new)
        .with("label", NodeLabelCommand::new)
        .with("cordon", NodeCordonCommand::new)
        .with("uncordon", NodeUncordonCommand::new)
        .with("drain", NodeDrainCommand::new)
        .with("rm", NodeRemoveCommand::new);
  }
}
