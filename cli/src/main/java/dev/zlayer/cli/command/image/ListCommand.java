package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.print.Amounts;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.ImageInfo;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(name = "ls", aliases = "list", description = "List the images that are here.")
public final class ListCommand implements Callable<Integer> {
  private final Session session;

  @Mixin private StoreOptions store = new StoreOptions();

  @Option(names = "--json", description = "Print JSON.")
  private boolean json;

  @Option(
      names = {"-q", "--quiet"},
      description = "Print only the digests.")
  private boolean quiet;

  public ListCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    List<ImageInfo> images;
    try (var open = store.open(session)) {
      images = open.images().list();
    }
    if (json) {
      session.out().print(JsonText.pretty(ImageJson.of(images)));
    } else if (quiet) {
      images.forEach(image -> session.out().println(image.digest()));
    } else {
      session.out().print(table(images, Instant.now()));
    }
    return 0;
  }

  private static Table table(List<ImageInfo> images, Instant now) {
    var table = new Table("IMAGE", "DIGEST", "PLATFORM", "SIZE", "CREATED");
    for (ImageInfo image : images) {
      List<String> names =
          image.references().isEmpty()
              ? List.of("<none>")
              : image.references().stream().map(ImageRef::familiar).toList();
      for (String name : names) {
        table.row(
            name,
            image.digest().brief(),
            image.platform().map(Platform::toString).orElse("-"),
            Amounts.bytes(image.contentBytes()),
            image.createdAt().map(then -> Amounts.age(then, now)).orElse("-"));
      }
    }
    return table;
  }
}
