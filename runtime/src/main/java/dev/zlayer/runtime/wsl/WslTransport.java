package dev.zlayer.runtime.wsl;

import dev.zlayer.host.file.UnixPath;
import dev.zlayer.host.process.Command;
import dev.zlayer.runtime.oci.tool.OciCommands;
import java.nio.file.Path;

/** The verbs of an OCI runtime, given in a distribution. */
public record WslTransport(WslDistribution distribution) implements OciCommands.Reach {
  @Override
  public Command there(Command command) {
    return distribution.inside(command);
  }

  @Override
  public boolean exists(Path there) throws InterruptedException {
    return distribution.test("-e", UnixPath.text(there));
  }
}
