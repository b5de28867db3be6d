package dev.zlayer.runtime.oci.tool;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;

/** A program ended badly; whoever called it knows what that means for the container. */
public final class ToolFailed extends Exception {
  private final String reason;

  public ToolFailed(String reason) {
    super(reason);
    this.reason = reason;
  }

  /** Names the program, how it ended and its last words. */
  public String reason() {
    return reason;
  }

  static ToolFailed of(Command command, String verb, CommandResult result) {
    return new ToolFailed(
        "%s %s exited with %d: %s"
            .formatted(command.program(), verb, result.code(), clean(result.lastLine())));
  }

  /** Go programs wrap their last words in key=value pairs; people want the words. */
  static String clean(String line) {
    int start = line.indexOf("msg=\"");
    int end = line.lastIndexOf('"');
    return start >= 0 && end > start + 5
        ? line.substring(start + 5, end).replace("\\\"", "\"")
        : line;
  }
}
