package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.Archive;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.error.AgentException;
import java.io.IOException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "backup",
    description = "Write the daemon's state to a tar archive while it runs",
    footer = {
      "",
      "Examples:",
      "  zlayer daemon backup state.tar",
      "  zlayer daemon backup - | gzip > state.tar.gz",
      "",
      "The archive holds deployments, jobs with their executions and artifacts, schedules,",
      "secrets with their key, tokens, networks and events: keep it private. Images, containers",
      "and volumes are not in it; see 'zlayer volume backup' and 'zlayer image save'. On a node of",
      "a cluster, the state of the cluster is not in it either; see 'zlayer cluster backup'."
    })
public final class DaemonBackupCommand extends ClientCommand {
  @Parameters(paramLabel = "FILE", description = "File to write; - is standard output")
  private String file = "-";

  public DaemonBackupCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    boolean standardOutput = file.equals("-");
    if (standardOutput && session.terminal()) {
      throw new AgentException.InvalidSpec(
          "cannot write an archive to a terminal; name a file or redirect standard output");
    }
    Archive.keepPrivate(
        session, standardOutput ? null : file, client.download("/backup", Query.NONE));
    if (clustered(client)) {
      tell(
          "this node is in a cluster, whose state is not in the archive: use 'zlayer cluster"
              + " backup'");
    }
    return 0;
  }

  private static boolean clustered(DaemonClient client) throws InterruptedException {
    try {
      return !client.get("/cluster").at("cluster").isNull();
    } catch (DaemonProblem _) {
      return false; // it is in none
    }
  }
}
