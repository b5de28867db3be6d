package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.command.image.FileArguments;
import dev.zlayer.json.Json;
import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "restore",
    description = "Fill a new or empty volume from a tar archive",
    footer = {
      "",
      "Examples:",
      "  zlayer volume restore data data.tar",
      "  gunzip -c data.tar.gz | zlayer volume restore --replace data -",
      "",
      "Refused while a running container uses the volume."
    })
public final class VolumeRestoreCommand extends ClientCommand {
  @Option(names = "--replace", description = "Discard what is in the volume")
  private boolean replace;

  @Option(
      names = "--node",
      paramLabel = "NAME",
      description = "In a cluster: node (default: the one that is asked, else the one that has it)")
  private @Nullable String node;

  @Parameters(index = "0", paramLabel = "NAME", description = "Volume")
  private String name = "";

  @Parameters(index = "1", paramLabel = "FILE", description = "Tar archive; - reads standard input")
  private String file = "-";

  public VolumeRestoreCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    try (InputStream tar = FileArguments.input(session, file)) {
      Json _ =
          client.upload(
              "PUT",
              "/volumes/" + Query.segment(name) + "/archive",
              (replace ? Query.of("replace", "true") : Query.NONE)
                  .andIf("node", Optional.ofNullable(node)),
              DaemonClient.TAR,
              tar::transferTo);
    }
    print(name);
    return 0;
  }
}
