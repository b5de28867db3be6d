package dev.zlayer.runtime.wsl;

import dev.zlayer.error.AgentException;
import java.util.List;

/**
 * Whether Linux containers can run in a distribution, in words for people.
 *
 * @param problem what is missing and how to get it; empty when all is there
 */
public record WslStatus(boolean usable, String problem) {
  private static final List<String> PROGRAMS = List.of("runc", "conmon");

  /** Throws the problem if there is one. */
  void require() {
    if (!usable) {
      throw new AgentException.Configuration(problem);
    }
  }

  /** Looks; never throws for what it finds. */
  public static WslStatus of(WslDistribution distribution) throws InterruptedException {
    try {
      distribution.require();
      for (String program : PROGRAMS) {
        if (!distribution.test("-x", "/usr/bin/" + program)
            && !distribution.test("-x", "/usr/sbin/" + program)) {
          return new WslStatus(
              false,
              "%s is not installed in the WSL distribution '%s': run 'wsl -d %s -u root apt-get install -y %s'"
                  .formatted(program, distribution.name(), distribution.name(), program));
        }
      }
      return new WslStatus(true, "");
    } catch (AgentException.Configuration | AgentException.Timeout e) {
      return new WslStatus(false, String.valueOf(e.getMessage()));
    }
  }
}
