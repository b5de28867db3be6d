package dev.zlayer.cli.command.ingress;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.host.http.HttpResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine.Command;

@Command(
    name = "ca",
    description = "Print the certificate of the local authority, which signs for tls: self_signed")
public final class IngressCaCommand extends ClientCommand {
  public IngressCaCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    try (HttpResponse answer = client.download("/ingress/ca", Query.NONE)) {
      session.out().print(new String(answer.body().readAllBytes(), StandardCharsets.US_ASCII));
    }
    return 0;
  }
}
