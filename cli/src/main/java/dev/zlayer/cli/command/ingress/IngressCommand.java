package dev.zlayer.cli.command.ingress;

import dev.zlayer.cli.command.Group;

/** The verbs about hosts that endpoints serve. */
public final class IngressCommand {
  private IngressCommand() {}

  public static Group group() {
    return new Group(
            "ingress", "Show and control hosts that endpoints serve, and their certificates")
        .with("ls", IngressListCommand::new)
        .with("show", IngressShowCommand::new)
        .with("logs", IngressLogsCommand::new)
        .with("pause", IngressModeCommand.Pause::new)
        .with("resume", IngressModeCommand.Resume::new)
        .with("maintenance", IngressModeCommand.Maintenance::new)
        .with("ca", IngressCaCommand::new)
        .with("certs", IngressCertificatesCommand::new)
        .with("revoke", IngressRevokeCommand::new);
  }
}
