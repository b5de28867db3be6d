package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageInfo;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "load",
    description = "Load images from an archive (docker save, or an OCI layout as tar).",
    footer = {"", "Example:  zlayer image load -i app.tar"})
public final class LoadCommand implements Callable<Integer> {
  private final Session session;

  @Mixin private StoreOptions store = new StoreOptions();

  @Option(
      names = {"-i", "--input"},
      paramLabel = "FILE",
      description = "The archive (default: standard input).")
  private String input = "-";

  @Option(names = "--json", description = "Print JSON.")
  private boolean json;

  public LoadCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws InterruptedException, IOException {
    List<ImageInfo> loaded;
    try (var open = store.open(session);
        InputStream archive = Streams.input(session, input)) {
      loaded = open.archives().load(archive);
    }
    if (json) {
      session.out().print(JsonText.pretty(ImageJson.of(loaded)));
    } else {
      for (ImageInfo image : loaded) {
        String names =
            image.references().isEmpty()
                ? "<none>"
                : String.join(", ", image.references().stream().map(ImageRef::familiar).toList());
        session.out().printf("loaded %s %s%n", names, image.digest());
      }
    }
    return 0;
  }
}
