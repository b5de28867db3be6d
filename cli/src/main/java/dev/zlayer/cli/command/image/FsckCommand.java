package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.error.Blame;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "fsck",
    description = "Check the image store for missing, damaged and unused content",
    footer = {"", "Exits with 0 if the store is intact or was repaired, 1 otherwise."})
public final class FsckCommand extends AnswerCommand {
  @Option(
      names = "--repair",
      description = "Remove damaged and unused content; damaged images must be pulled again")
  private boolean repair;

  public FsckCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json report = client.post("/images/check", Query.NONE.flag("repair", repair));
    boolean sound = report.at("sound").bool().orElse(false);
    show(report, () -> text(report, sound));
    return sound || repair ? 0 : Blame.SELF.exitCode();
  }

  private String text(Json report, boolean sound) {
    var text = new StringBuilder();
    for (Json finding : report.at("findings").items()) {
      text.append(finding.at("damage").bool().orElse(false) ? "damage: " : "unused: ")
          .append(text(finding, "text"))
          .append('\n');
    }
    text.append(
        "%s images, %s blobs, %s: "
            .formatted(
                number(report, "images"),
                number(report, "blobs"),
                HumanUnits.bytes(report.at("bytes").integer().orElse(0L))));
    if (sound) {
      return text.append("sound\n").toString();
    }
    String remedy = repair ? "repaired" : "run 'zlayer image fsck --repair' to repair it";
    return text.append(report.at("findings").items().size())
        .append(" findings, ")
        .append(remedy)
        .append('\n')
        .toString();
  }
}
