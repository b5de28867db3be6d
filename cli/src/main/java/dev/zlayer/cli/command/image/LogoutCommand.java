package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Locations;
import dev.zlayer.cli.Session;
import dev.zlayer.host.credential.DockerConfig;
import dev.zlayer.oci.ImageRef;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(name = "logout", description = "Remove the credentials of a registry")
public final class LogoutCommand implements Callable<Integer> {
  private final Session session;

  @Parameters(
      paramLabel = "HOST",
      arity = "0..1",
      description = "Registry as host[:port] (default: docker.io)")
  private String host = ImageRef.DEFAULT_HOST;

  public LogoutCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws InterruptedException {
    String registry = LoginCommand.host(host);
    boolean found = new DockerConfig(Locations.dockerConfig(session)).erase(registry);
    session
        .out()
        .println(
            found
                ? "removed the credentials of " + registry
                : "there are no credentials of " + registry);
    return 0;
  }
}
