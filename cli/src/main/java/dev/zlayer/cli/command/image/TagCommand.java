package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.oci.ImageRef;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(name = "tag", description = "Give an image one more name.")
public final class TagCommand implements Callable<Integer> {
  private final Session session;

  @Mixin private StoreOptions store = new StoreOptions();

  @Parameters(index = "0", paramLabel = "IMAGE", description = "An image that is here.")
  private String source = "";

  @Parameters(index = "1", paramLabel = "NAME", description = "The new name; moved if taken.")
  private String target = "";

  public TagCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    try (var open = store.open(session)) {
      open.images().tag(ImageRef.parse(source), ImageRef.parse(target));
    }
    return 0;
  }
}
