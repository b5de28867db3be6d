package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageInfo;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(
    name = "import",
    description = "Make an image of one layer from a root file system as tar.",
    footer = {"", "Example:  tar -C rootfs -c . | zlayer image import - base:1"})
public final class ImportCommand implements Callable<Integer> {
  private final Session session;

  @Mixin private StoreOptions store = new StoreOptions();

  @Parameters(index = "0", paramLabel = "FILE", description = "The tar; - for standard input.")
  private String file = "-";

  @Parameters(index = "1", paramLabel = "NAME", description = "What to call the image.")
  private String name = "";

  public ImportCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws InterruptedException, IOException {
    ImageRef as = ImageRef.parse(name);
    try (var open = store.open(session);
        InputStream tar = Streams.input(session, file)) {
      ImageInfo info = open.archives().importRoot(tar, as);
      session.out().printf("%s %s%n", as.familiar(), info.digest());
    }
    return 0;
  }
}
