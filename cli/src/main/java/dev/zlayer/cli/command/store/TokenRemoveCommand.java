package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import picocli.CommandLine.Command;

@Command(
    name = "rm",
    aliases = "remove",
    description = "Remove tokens by name or id; their open connections are closed")
public final class TokenRemoveCommand extends RemoveEachCommand {
  public TokenRemoveCommand(Session session) {
    super(session, "/tokens/");
  }
}
