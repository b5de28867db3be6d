package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.command.Group;

/** The verbs about the cluster as a whole. */
public final class ClusterCommand {
  private ClusterCommand() {}

  public static Group group() {
    return new Group("cluster", "Join several machines to a cluster")
        .with("init", ClusterInitCommand::new)
        .with("join", ClusterJoinCommand::new)
        .with("token", ClusterTokenCommand::new)
        .with("status", ClusterStatusCommand::new)
        .with("rotate-certs", ClusterRotateCertsCommand::new)
        .with("backup", ClusterBackupCommand::new)
        .with("restore", ClusterRestoreCommand::new)
        .with("leave", ClusterLeaveCommand::new);
  }
}
