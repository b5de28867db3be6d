package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.print.Amounts;
import dev.zlayer.error.Blame;
import dev.zlayer.image.store.Finding;
import dev.zlayer.image.store.Fsck;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "fsck",
    description = "Prove that the store holds what its images need, and nothing else.",
    footer = {"", "Exit code 0 when it is so (or was repaired), 1 otherwise."})
public final class FsckCommand implements Callable<Integer> {
  private final Session session;

  @Mixin private StoreOptions store = new StoreOptions();

  @Option(
      names = "--repair",
      description = "Remove what is damaged or belongs to nothing; damaged images must be pulled.")
  private boolean repair;

  @Option(names = "--json", description = "Print JSON.")
  private boolean json;

  public FsckCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws InterruptedException {
    Fsck.Report report;
    try (var open = store.open(session)) {
      report = repair ? open.store().repair() : open.store().check();
    }
    session.out().print(json ? JsonText.pretty(asJson(report)) : asText(report));
    return report.clean() || repair ? 0 : Blame.SELF.exitCode();
  }

  private String asText(Fsck.Report report) {
    var text = new StringBuilder();
    for (Finding finding : report.findings()) {
      text.append(finding.damage() ? "damage: " : "waste: ").append(finding.text()).append('\n');
    }
    text.append(
        "%d images, %d blobs, %s: "
            .formatted(report.images(), report.blobs(), Amounts.bytes(report.bytes())));
    if (report.clean()) {
      return text.append("sound\n").toString();
    }
    String remedy = repair ? "repaired" : "'zlayer image fsck --repair' mends this";
    return text.append(report.findings().size())
        .append(" findings, ")
        .append(remedy)
        .append('\n')
        .toString();
  }

  private Json asJson(Fsck.Report report) {
    return Json.object()
        .put("images", report.images())
        .put("blobs", report.blobs())
        .put("bytes", report.bytes())
        .put("sound", report.clean())
        .put("repaired", repair && !report.clean())
        .put(
            "findings",
            report.findings().stream()
                .map(
                    finding ->
                        Json.object()
                            .put("damage", finding.damage())
                            .put("text", finding.text())
                            .build())
                .toList())
        .build();
  }
}
