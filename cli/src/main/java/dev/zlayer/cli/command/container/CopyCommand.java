package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.error.AgentException;
import java.io.IOException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "cp",
    description = "Copy files between a container and this host",
    footer = {
      "",
      "Examples:",
      "  zlayer cp shop/web/1:/etc/nginx.conf .       out of a container",
      "  zlayer cp ./site shop/web/1:/srv             into it; also while it runs",
      "  zlayer cp shop/db/1:/data - > data.tar       as a tar on standard output",
      "  zlayer cp - shop/db/1:/data < data.tar       a tar from standard input"
    })
public final class CopyCommand extends ClientCommand {
  @Option(
      names = {"-q", "--quiet"},
      description = "Do not print anything")
  private boolean quiet;

  @Parameters(
      index = "0",
      paramLabel = "FROM",
      description = "CONTAINER:PATH, a local path, or - for a tar stream")
  private String from = "";

  @Parameters(
      index = "1",
      paramLabel = "TO",
      description = "CONTAINER:PATH, a local path, or - for a tar stream")
  private String to = "";

  public CopyCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    CopyTarget source = CopyTarget.parse(from);
    CopyTarget target = CopyTarget.parse(to);
    try (var progress = new TransferProgress(session, quiet)) {
      var copy = new Copying(session, client, progress);
      switch (source) {
        case CopyTarget.Inside inside ->
            copy.out(
                inside,
                switch (target) {
                  case CopyTarget.Here here -> here;
                  case CopyTarget.Inside _ -> throw oneSide();
                });
        case CopyTarget.Here here ->
            copy.in(
                here,
                switch (target) {
                  case CopyTarget.Inside inside -> inside;
                  case CopyTarget.Here _ -> throw oneSide();
                });
      }
    }
    if (!quiet && !to.equals("-")) {
      tell("copied " + from + " to " + to);
    }
    return 0;
  }

  private static AgentException oneSide() {
    return new AgentException.InvalidSpec(
        "exactly one of source and target must be inside a container; write it as CONTAINER:PATH");
  }
}
