package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.BuildFacts;
import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.doctor.Doctor;
import dev.zlayer.cli.doctor.Finding;
import dev.zlayer.cli.print.Style;
import dev.zlayer.cli.print.Table;
import dev.zlayer.error.Blame;
import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine.Command;

@Command(
    name = "doctor",
    description = "Check this host and the set-up of the daemon, and show what to do",
    footer = {
      "",
      "Works with and without a running daemon; as root it checks more. Exits with 0 if nothing",
      "failed, 1 otherwise; warnings do not count."
    })
public final class DoctorCommand extends AnswerCommand {
  public DoctorCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    List<Finding> findings =
        new Doctor(client, BuildFacts.version(), session.variable("PATH"))
            .run(
                () -> Configurations.read(session, Optional.empty(), Map.of()).json(),
                Instant.now());
    long failed = count(findings, Finding.Status.FAILED);
    Json answer =
        Json.object()
            .put("checks", findings.stream().map(Finding::json).toList())
            .put("failed", failed)
            .build();
    show(answer, () -> text(findings, failed));
    return failed == 0 ? 0 : Blame.SELF.exitCode();
  }

  private String text(List<Finding> findings, long failed) {
    Style style = Style.of(session.colours());
    var table = new Table("CHECK", "STATUS", "DETAIL");
    var remedies = new StringBuilder();
    for (Finding finding : findings) {
      table.row(finding.check(), style.state(finding.status().toString()), finding.detail());
      if (finding.status() == Finding.Status.FAILED || finding.status() == Finding.Status.WARNING) {
        remedies.append(
            "%n%s: %s%n  %s%n".formatted(finding.check(), finding.detail(), finding.remedy()));
      }
    }
    long warnings = count(findings, Finding.Status.WARNING);
    return table
        + remedies.toString()
        + "%n%d failed, %d %s%n"
            .formatted(failed, warnings, warnings == 1 ? "warning" : "warnings");
  }

  private static long count(List<Finding> findings, Finding.Status status) {
    return findings.stream().filter(finding -> finding.status() == status).count();
  }
}
