package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(name = "inspect", description = "Show configuration, layers and labels, as JSON.")
public final class InspectCommand implements Callable<Integer> {
  private final Session session;

  @Mixin private StoreOptions store = new StoreOptions();

  @Parameters(paramLabel = "IMAGE", arity = "1..*", description = "What to show.")
  private List<String> images = List.of();

  public InspectCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    var found = new ArrayList<Json>();
    try (var open = store.open(session)) {
      for (String image : images) {
        found.add(ImageJson.of(open.details(ImageRef.parse(image))));
      }
    }
    session.out().print(JsonText.pretty(found.size() == 1 ? found.getFirst() : Json.of(found)));
    return 0;
  }
}
