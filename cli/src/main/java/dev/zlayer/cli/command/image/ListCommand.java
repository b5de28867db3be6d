package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.ContainerTable;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(name = "ls", aliases = "list", description = "List images")
public final class ListCommand extends AnswerCommand {
  private static final int DIGEST = "sha256:".length() + 12;

  @Option(
      names = {"-q", "--quiet"},
      description = "Print digests only")
  private boolean quiet;

  public ListCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json images = client.get("/images");
    if (quiet && !json) {
      images.items().stream().map(image -> text(image, "digest")).distinct().forEach(this::print);
    } else {
      show(images, () -> table(images.items(), Instant.now()).toString());
    }
    return 0;
  }

  private static Table table(List<Json> images, Instant now) {
    boolean nodes = ContainerTable.onNodes(images);
    var headings = new ArrayList<>(List.of("IMAGE", "DIGEST", "PLATFORM", "SIZE", "CREATED"));
    if (nodes) {
      headings.add(1, "NODE");
    }
    var table = new Table(headings.toArray(String[]::new));
    for (Json image : images) {
      List<String> names = image.at("references").strings();
      String digest = text(image, "digest");
      for (String name : names.isEmpty() ? List.of("<none>") : names) {
        var cells =
            new ArrayList<>(
                List.of(
                    name,
                    digest.substring(0, Math.min(DIGEST, digest.length())),
                    text(image, "platform"),
                    image.at("size").integer().map(HumanUnits::bytes).orElse("-"),
                    image
                        .at("created")
                        .string()
                        .map(then -> HumanUnits.age(Instant.parse(then), now))
                        .orElse("-")));
        if (nodes) {
          cells.add(1, text(image, "node"));
        }
        table.row(cells.toArray(String[]::new));
      }
    }
    return table;
  }
}
