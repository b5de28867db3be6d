package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.command.image.FileArguments;
import dev.zlayer.daemon.backup.BackupFormat;
import dev.zlayer.daemon.backup.StateBackup;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "restore",
    description = "Fill an empty data directory with the state of a backup",
    footer = {
      "",
      "Examples:",
      "  zlayer daemon restore state.tar && zlayer daemon start",
      "  gunzip -c state.tar.gz | zlayer daemon restore --replace -",
      "",
      "No daemon may run on the data directory. With its next start it pulls the images and",
      "makes the containers again. A backup of a later version is refused."
    })
public final class DaemonRestoreCommand implements Callable<Integer> {
  private final Session session;

  @Option(names = "--replace", description = "Discard the state that is there")
  private boolean replace;

  @Option(names = "--config", paramLabel = "FILE", description = "Configuration file to use")
  private String config = "";

  @Parameters(paramLabel = "FILE", description = "Backup to read; - reads standard input")
  private String file = "-";

  public DaemonRestoreCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws InterruptedException {
    Optional<String> named = Optional.of(config).filter(name -> !name.isEmpty());
    DataDir dirs = Configurations.read(session, named, Map.of()).config().directories();
    try (InputStream tar = FileArguments.input(session, file)) {
      BackupFormat backup = StateBackup.restore(dirs, replace, tar);
      session
          .out()
          .printf(
              "restored the state of %s (zlayer %s) to %s; start the daemon to apply it%n",
              backup.time(), backup.version(), dirs.data());
      return 0;
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "%s cannot be restored: %s".formatted(dirs.data(), e.getMessage()), e);
    }
  }
}
