package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "restore",
    description = "Begin the cluster anew from a backup, with this node alone storing its state",
    footer = {
      "",
      "For the day on which most of the nodes that store the state are lost. Without FILE the",
      "state is the one that this node has. The others that stored it have to leave (zlayer",
      "cluster leave --force) before they join again. Needs the package etcd-client."
    })
public final class ClusterRestoreCommand extends ClientCommand {
  @Parameters(
      paramLabel = "FILE",
      arity = "0..1",
      description = "What 'zlayer cluster backup' wrote (default: the state of this node)")
  private @Nullable String file;

  @Option(names = "--force", description = "Also when the cluster answers")
  private boolean force;

  public ClusterRestoreCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    try (InputStream snapshot =
        file == null
            ? InputStream.nullInputStream()
            : Files.newInputStream(session.resolve(file))) {
      Json _ =
          client.upload(
              "POST",
              "/cluster/restore",
              force ? Query.of("force", "true") : Query.NONE,
              "application/octet-stream",
              snapshot::transferTo);
    } catch (NoSuchFileException e) {
      throw new AgentException.InvalidSpec("there is no file '%s'".formatted(file), e);
    }
    print("the cluster begins anew; this node stores its state");
    return 0;
  }
}
