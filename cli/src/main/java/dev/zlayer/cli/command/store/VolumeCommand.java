package dev.zlayer.cli.command.store;

import dev.zlayer.cli.command.Group;

/** The verbs about volumes. */
public final class VolumeCommand {
  private VolumeCommand() {}

  public static Group group() {
    return new Group("volume", "Create, list, inspect, back up, restore and remove volumes")
        .with("create", VolumeCreateCommand::new)
        .with("ls", VolumeListCommand::new)
        .with("inspect", VolumeInspectCommand::new)
        .with("backup", VolumeBackupCommand::new)
        .with("restore", VolumeRestoreCommand::new)
        .with("rm", VolumeRemoveCommand::new)
        .with("prune", VolumePruneCommand::new);
  }
}
