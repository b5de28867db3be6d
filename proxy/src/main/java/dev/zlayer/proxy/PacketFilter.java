package dev.zlayer.proxy;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Detaching;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Runs nft; a script is one transaction. Every published port has a socket, and Java visits each of
 * them whenever it starts a program, which takes longer than nft itself: so nft is started without
 * that where the C library can. Called by one thread at a time.
 */
final class PacketFilter implements AutoCloseable {
  private final ProxyConfig config;
  private final Optional<Detaching> direct;
  private boolean closed;

  private PacketFilter(ProxyConfig config, Optional<Detaching> direct) {
    this.config = config;
    this.direct = direct;
  }

  static PacketFilter open(ProxyConfig config) {
    try {
      return new PacketFilter(config, Detaching.open());
    } catch (IOException e) {
      throw new AgentException.Network("cannot prepare to run nft: " + e.getMessage(), e);
    }
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

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      direct.ifPresent(Detaching::close);
    }
  }

  private CommandResult apply(String script) throws InterruptedException {
    byte[] bytes = script.getBytes(StandardCharsets.UTF_8);
    Deadline deadline = Deadline.after(config.toolLimit());
    try {
      return direct.isPresent() && !closed
          ? direct(direct.get(), bytes, deadline)
          : Processes.run(Command.of(config.nft(), "-f", "-").withInput(bytes), deadline);
    } catch (AgentException.Configuration e) {
      throw new AgentException.Configuration(
          "cannot run %s, which publishes endpoints: install nftables".formatted(config.nft()),
          e.getCause());
    }
  }

  /** A program that is started so reads nothing but files. */
  private CommandResult direct(Detaching starter, byte[] script, Deadline deadline)
      throws InterruptedException {
    Path file = config.stateDirectory().resolve("script.nft");
    try {
      Files.write(file, script);
    } catch (IOException e) {
      throw new AgentException.Network("cannot write %s: %s".formatted(file, e.getMessage()), e);
    }
    try {
      return starter.run(Command.of(config.nft(), "-f", file.toString()), deadline);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot run %s: %s".formatted(config.nft(), e.getMessage()), e);
    } finally {
      EndpointStore.delete(file);
    }
  }
}
