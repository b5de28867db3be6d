package dev.zlayer.cli.command;

import dev.zlayer.cli.Cli;
import dev.zlayer.cli.Session;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "completions",
    description = "Print a shell completion script",
    footer = {
      "",
      "Current shell:         source <(zlayer completions bash)",
      "Permanently (bash):    zlayer completions bash > /etc/bash_completion.d/zlayer",
      "For zsh, in ~/.zshrc:  source <(zlayer completions zsh)"
    })
public final class CompletionsCommand implements Callable<Integer> {
  enum Shell {
    BASH,
    ZSH
  }

  private final Session session;

  @Parameters(paramLabel = "SHELL", description = "bash or zsh")
  private Shell shell = Shell.BASH;

  public CompletionsCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    if (shell == Shell.ZSH) {
      session.out().println("autoload -U +X compinit && compinit");
      session.out().println("autoload -U +X bashcompinit && bashcompinit");
    }
    session.out().println(AutoComplete.bash("zlayer", new Cli(session).grammar()));
    return 0;
  }
}
