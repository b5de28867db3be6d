package dev.zlayer.proxy;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;

/** Runs nft; a script is one transaction. */
final class PacketFilter {
  private final ProxyConfig config;

  PacketFilter(ProxyConfig config) {
    this.config = config;
  }

  /** False when the kernel refused it; then nothing was changed. */
  boolean tried(String script) throws InterruptedException {
    return script.isBlank() || apply(script).success();
  }

  void run(String script) throws InterruptedException {
    CommandResult result = apply(script);
    if (!result.success()) {
      throw new AgentException.Network(
          "nft exited with %d while writing table %s: %s"
              .formatted(
                  result.code(),
                  config.table(),
                  result.stderr().lines().findFirst().orElseGet(result::lastLine)));
    }
  }

  private CommandResult apply(String script) throws InterruptedException {
    try {
      return Processes.run(
          Command.of(config.nft(), "-f", "-").withInput(script.getBytes(StandardCharsets.UTF_8)),
          Deadline.after(config.toolLimit()));
    } catch (AgentException.Configuration e) {
      throw new AgentException.Configuration(
          "cannot run %s, which publishes endpoints: install nftables".formatted(config.nft()),
          e.getCause());
    }
  }
}
