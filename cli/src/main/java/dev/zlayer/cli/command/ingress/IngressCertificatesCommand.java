package dev.zlayer.cli.command.ingress;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;

@Command(
    name = "certs",
    aliases = "certificates",
    description = "List the certificates of hosts with their end, next renewal and last error")
public final class IngressCertificatesCommand extends AnswerCommand {
  public IngressCertificatesCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer = client.get("/ingress/certificates");
    show(answer, () -> table(answer).toString());
    return 0;
  }

  private static Table table(Json answer) {
    var table = new Table("HOST", "KIND", "DEPLOYMENT", "EXPIRES", "RENEWAL", "ISSUER", "ERROR");
    for (Json one : items(answer, "certificates")) {
      table.row(
          text(one, "host"),
          text(one, "kind"),
          text(one, "deployment"),
          text(one, "not_after"),
          text(one, "renewal"),
          text(one, "issuer"),
          text(one, "error"));
    }
    return table;
  }
}
