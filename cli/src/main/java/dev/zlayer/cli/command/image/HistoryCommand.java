package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.print.Amounts;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageDetails;
import java.time.Instant;
import java.util.Iterator;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(name = "history", description = "Show how an image was built, oldest step first.")
public final class HistoryCommand implements Callable<Integer> {
  private static final int WIDEST = 80;

  private final Session session;

  @Mixin private StoreOptions store = new StoreOptions();

  @Option(names = "--json", description = "Print JSON.")
  private boolean json;

  @Option(names = "--no-trunc", description = "Show whole commands.")
  private boolean whole;

  @Parameters(paramLabel = "IMAGE", description = "Which image.")
  private String image = "";

  public HistoryCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    ImageDetails details;
    try (var open = store.open(session)) {
      details = open.details(ImageRef.parse(image));
    }
    if (json) {
      session
          .out()
          .print(JsonText.pretty(Json.of(details.history().stream().map(ImageJson::of).toList())));
    } else {
      session.out().print(table(details));
    }
    return 0;
  }

  private Table table(ImageDetails details) {
    var table = new Table("CREATED", "SIZE", "CREATED BY");
    Instant now = Instant.now();
    Iterator<ImageDetails.Layer> layers = details.layers().iterator();
    for (ImageDetails.HistoryEntry entry : details.history()) {
      boolean hasLayer = !entry.emptyLayer() && layers.hasNext();
      table.row(
          entry.createdAt().map(then -> Amounts.age(then, now)).orElse("-"),
          hasLayer ? Amounts.bytes(layers.next().bytes()) : "-",
          shorten(entry.createdBy().isEmpty() ? entry.comment() : entry.createdBy()));
    }
    return table;
  }

  private String shorten(String text) {
    String line = text.replaceAll("\\s+", " ").strip();
    return whole || line.length() <= WIDEST ? line : line.substring(0, WIDEST - 3) + "...";
  }
}
