package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.Archive;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.error.AgentException;
import java.io.IOException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(name = "backup", description = "Write all that the cluster stores to a file")
public final class ClusterBackupCommand extends ClientCommand {
  @Parameters(paramLabel = "FILE", description = "File to write; - is standard output")
  private String file = "-";

  public ClusterBackupCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    boolean standardOutput = file.equals("-");
    if (standardOutput && session.terminal()) {
      throw new AgentException.InvalidSpec(
          "cannot write a backup to a terminal; name a file or redirect standard output");
    }
    Archive.keepPrivate(
        session, standardOutput ? null : file, client.download("/cluster/backup", Query.NONE));
    return 0;
  }
}
