package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import java.time.Instant;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(name = "history", description = "Show the build history of an image, oldest step first")
public final class HistoryCommand extends AnswerCommand {
  private static final int WIDEST = 80;

  @Option(names = "--no-trunc", description = "Do not truncate commands")
  private boolean whole;

  @Parameters(paramLabel = "IMAGE", description = "Image reference")
  private String image = "";

  public HistoryCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json steps = client.get("/images/history", Query.of("ref", ImageRef.parse(image).familiar()));
    show(steps, () -> table(steps).toString());
    return 0;
  }

  private Table table(Json steps) {
    var table = new Table("CREATED", "LAYER", "CREATED BY", "COMMENT");
    Instant now = Instant.now();
    for (Json step : steps.items()) {
      table.row(
          step.at("created")
              .string()
              .map(then -> HumanUnits.age(Instant.parse(then), now))
              .orElse("-"),
          step.at("empty_layer").bool().orElse(false) ? "no" : "yes",
          shorten(text(step, "created_by")),
          shorten(text(step, "comment")));
    }
    return table;
  }

  private String shorten(String text) {
    String line = text.replaceAll("\\s+", " ").strip();
    return whole || line.length() <= WIDEST ? line : line.substring(0, WIDEST - 3) + "...";
  }
}
