package dev.zlayer.cli.command.gpu;

import dev.zlayer.cli.command.Group;

/** The verbs about GPUs. */
public final class GpuCommand {
  private GpuCommand() {}

  public static Group group() {
    return new Group("gpu", "Show the GPUs of this node").with("ls", GpuListCommand::new);
  }
}
