package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.util.List;

/** A program with its arguments. A text is given to the shell, a list is run as it is. */
@TextForm(
    is = "a command as text or as a list",
    example = "test -f /ready",
    pattern = "\\S",
    list = true)
public record CommandLine(List<String> words) {
  public CommandLine {
    words = List.copyOf(words);
  }

  public static CommandLine parse(String text) {
    if (text.isBlank()) {
      throw new AgentException.InvalidSpec("the command is empty, write what to run");
    }
    return new CommandLine(List.of("/bin/sh", "-c", text));
  }

  public static CommandLine of(List<String> words) {
    if (words.isEmpty() || words.getFirst().isBlank()) {
      throw new AgentException.InvalidSpec("the command is empty, write what to run");
    }
    return new CommandLine(words);
  }
}
