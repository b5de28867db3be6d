package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageRemoval;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "rm",
    aliases = "remove",
    description = "Remove names of images, and images that have none left.")
public final class RemoveCommand implements Callable<Integer> {
  private final Session session;

  @Mixin private StoreOptions store = new StoreOptions();

  @Option(
      names = {"-f", "--force"},
      description = "Also when containers use it.")
  private boolean force;

  @Option(names = "--json", description = "Print JSON.")
  private boolean json;

  @Parameters(paramLabel = "IMAGE", arity = "1..*", description = "What to remove.")
  private List<String> images = List.of();

  public RemoveCommand(Session session) {
    this.session = session;
  }

  /** Removes all it can; the first failure decides the exit code after every image was tried. */
  @Override
  public Integer call() {
    List<ImageRef> wanted = images.stream().map(ImageRef::parse).toList();
    var removals = new ArrayList<ImageRemoval>();
    int code = 0;
    try (var open = store.open(session)) {
      for (ImageRef image : wanted) {
        try {
          removals.add(open.images().remove(image, force));
        } catch (AgentException e) {
          session.err().println("zlayer: " + e.getMessage());
          code = code == 0 ? e.blame().exitCode() : code;
        }
      }
    }
    if (json) {
      session.out().print(JsonText.pretty(Json.of(removals.stream().map(ImageJson::of).toList())));
    } else {
      removals.forEach(removal -> Removals.print(removal, session.out()));
    }
    return code;
  }
}
