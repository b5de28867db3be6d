package dev.zlayer.cli.command.ingress;

import dev.zlayer.cli.command.Group;

/** The verbs about hosts that endpoints serve. */
public final class IngressCommand {
  private IngressCommand() {}

  public static Group group() {
    return new Group("ingress", "Show hosts that endpoints serve and their certificates")
        .with("ca", IngressCaCommand::new)
        .with("certs", IngressCertificatesCommand::new);
  }
}
