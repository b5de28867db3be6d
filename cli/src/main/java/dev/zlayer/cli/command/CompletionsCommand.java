package dev.zlayer.cli.command;

import dev.zlayer.cli.Session;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "completions",
    description = "Print a shell completion script",
    footer = {
      "",
      "Current shell:         source <(zlayer completions bash)",
      "Permanently (bash):    zlayer completions bash > /etc/bash_completion.d/zlayer",
      "For zsh, in ~/.zshrc:  source <(zlayer completions zsh)",
      "For fish:              zlayer completions fish > ~/.config/fish/completions/zlayer.fish",
      "",
      "Completes commands, options, and the names of containers, services, images, jobs,",
      "volumes and networks that the daemon knows."
    })
public final class CompletionsCommand implements Callable<Integer> {
  enum Shell {
    BASH,
    ZSH,
    FISH
  }

  /** Readline takes ':' and '=' for ends of words, so what is before them is cut off again. */
  private static final String BASH_SCRIPT =
      """
      _zlayer() {
        local line="${COMP_LINE:0:COMP_POINT}" words current before
        read -ra words <<< "$line"
        [[ "$line" == *[[:space:]] ]] && words+=("")
        current="${words[${#words[@]}-1]}"
        before="${current%"${current##*[:=]}"}"
        local IFS=$'\\n'
        COMPREPLY=($("${words[0]}" __complete "${words[@]:1}" 2>/dev/null))
        [[ -n "$before" && ${#COMPREPLY[@]} -gt 0 ]] && COMPREPLY=("${COMPREPLY[@]#"$before"}")
        return 0
      }
      complete -o default -F _zlayer zlayer
      """;

  private static final String ZSH_SCRIPT =
      """
      #compdef zlayer
      (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
      _zlayer() {
        local -a found
        found=("${(@f)$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
        if [[ -n "${found[1]}" ]]; then
          compadd -- "${found[@]}"
        else
          _files
        fi
      }
      compdef _zlayer zlayer
      """;

  private static final String FISH_SCRIPT =
      """
      function __zlayer_complete
        set -l words (commandline -opc)
        $words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null
      end
      complete -c zlayer -a '(__zlayer_complete)'
      """;

  private final Session session;

  @Parameters(paramLabel = "SHELL", description = "bash, zsh or fish")
  private Shell shell = Shell.BASH;

  public CompletionsCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    session
        .out()
        .print(
            switch (shell) {
              case BASH -> BASH_SCRIPT;
              case ZSH -> ZSH_SCRIPT;
              case FISH -> FISH_SCRIPT;
            });
    return 0;
  }
}
