package dev.zlayer.cli.command.ingress;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "revoke",
    description = "Have the ACME server revoke the certificate of a host, and order another one")
public final class IngressRevokeCommand extends ClientCommand {
  @Parameters(paramLabel = "HOST", description = "Host as 'zlayer ingress certs' lists it")
  private String host = "";

  public IngressRevokeCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    client.post("/ingress/certificates/%s/revoke".formatted(Query.segment(host)), Query.NONE);
    return 0;
  }
}
