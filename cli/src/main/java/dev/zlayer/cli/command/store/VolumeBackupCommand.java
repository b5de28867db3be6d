package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.Archive;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "backup",
    description = "Write a volume to a tar archive",
    footer = {
      "",
      "Examples:",
      "  zlayer volume backup --pause data data.tar",
      "  zlayer volume backup --stop data | gzip > data.tar.gz",
      "",
      "While running containers use the volume, --pause or --stop is required. They continue",
      "afterwards, also when the backup fails."
    })
public final class VolumeBackupCommand extends ClientCommand {
  @Option(names = "--pause", description = "Pause the containers that use it meanwhile")
  private boolean pause;

  @Option(names = "--stop", description = "Stop the services and containers that use it meanwhile")
  private boolean stop;

  @Option(
      names = "--node",
      paramLabel = "NAME",
      description = "In a cluster: node (default: the one that is asked, else the one that has it)")
  private @Nullable String node;

  @Parameters(index = "0", paramLabel = "NAME", description = "Volume")
  private String name = "";

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "FILE",
      description = "File to write; - is standard output (default)")
  private @Nullable String file;

  public VolumeBackupCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    if (pause && stop) {
      throw new AgentException.InvalidSpec("--pause and --stop exclude each other: choose one");
    }
    String output = "-".equals(file) ? null : file;
    if (output == null && session.terminal()) {
      throw new AgentException.InvalidSpec(
          "cannot write an archive to a terminal; name a file or redirect standard output");
    }
    Query query =
        (pause ? Query.of("quiesce", "pause") : stop ? Query.of("quiesce", "stop") : Query.NONE)
            .andIf("node", Optional.ofNullable(node));
    Archive.keep(
        session, output, client.download("/volumes/" + Query.segment(name) + "/archive", query));
    return 0;
  }
}
