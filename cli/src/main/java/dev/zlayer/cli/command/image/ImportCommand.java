package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "import",
    description = "Create a single-layer image from a tar archive of a root file system",
    footer = {
      "",
      "Examples:",
      "  tar -C rootfs -c . | zlayer image import - base:1",
      "  zlayer image import --change 'CMD [\"sh\"]' rootfs.tar base:1"
    })
public final class ImportCommand extends AnswerCommand {
  @Option(
      names = {"-c", "--change"},
      paramLabel = "INSTRUCTION",
      description =
          "Apply a Dockerfile instruction: CMD, ENTRYPOINT, ENV, EXPOSE, LABEL, STOPSIGNAL, USER,"
              + " VOLUME or WORKDIR; may be repeated")
  private List<String> changes = List.of();

  @Parameters(index = "0", paramLabel = "FILE", description = "Tar archive; - reads standard input")
  private String file = "-";

  @Parameters(index = "1", paramLabel = "NAME", description = "Image name")
  private String name = "";

  public ImportCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    ImageRef as = ImageRef.parse(name);
    try (InputStream tar = FileArguments.input(session, file)) {
      Json image =
          client.upload(
              "POST",
              "/images/import",
              Query.of("ref", as.familiar()).all("change", changes),
              DaemonClient.TAR,
              tar::transferTo);
      show(image, () -> as.familiar() + " " + text(image, "digest") + "\n");
    }
    return 0;
  }
}
