package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "save",
    description = "Save images as an archive that docker load and OCI tools read.",
    footer = {"", "Example:  zlayer image save -o app.tar app:1"})
public final class SaveCommand implements Callable<Integer> {
  private final Session session;

  @Mixin private StoreOptions store = new StoreOptions();

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FILE",
      description = "Where to (default: standard output, which must not be a terminal).")
  private @Nullable String output;

  @Parameters(paramLabel = "IMAGE", arity = "1..*", description = "What to save.")
  private List<String> images = List.of();

  public SaveCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws InterruptedException, IOException {
    List<ImageRef> wanted = images.stream().map(ImageRef::parse).toList();
    if (output == null && session.terminal()) {
      throw new AgentException.InvalidSpec(
          "a terminal is no place for an archive: use --output FILE or redirect");
    }
    try (var open = store.open(session)) {
      if (output == null) {
        open.archives().save(wanted, session.out());
        session.out().flush();
      } else {
        toFile(open, wanted, session.resolve(output));
      }
    }
    return 0;
  }

  /** A failed save leaves no file, and an older one as it was. */
  private static void toFile(OpenStore open, List<ImageRef> wanted, Path file)
      throws InterruptedException, IOException {
    Path partial = file.resolveSibling(file.getFileName() + ".partial");
    try {
      try (var out = new BufferedOutputStream(Files.newOutputStream(partial), 1 << 16)) {
        open.archives().save(wanted, out);
      }
      Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(partial);
    }
  }
}
