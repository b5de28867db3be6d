package dev.zlayer.runtime.docker;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpAddress;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Which engine, and whose containers in it.
 *
 * @param agent tells the containers of this agent from those of others on the same engine
 * @param requestLimit for everything that should be quick
 */
public record DockerSettings(HttpAddress address, String agent, Duration requestLimit) {
  public static final Path DEFAULT_SOCKET = Path.of("/var/run/docker.sock");

  public DockerSettings {
    if (!agent.matches("[a-zA-Z0-9][a-zA-Z0-9_.-]{0,40}")) {
      throw new AgentException.InvalidSpec(
          "'" + agent + "' cannot name an agent: use letters, digits, '_', '.' and '-'");
    }
  }

  public static DockerSettings of(HttpAddress address, String agent) {
    return new DockerSettings(address, agent, Duration.ofSeconds(60));
  }
}
