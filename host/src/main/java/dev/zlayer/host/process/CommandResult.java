package dev.zlayer.host.process;

import java.nio.charset.StandardCharsets;
import java.util.List;

/** How a program ended and what it printed. */
@SuppressWarnings("ArrayRecordComponent") // output is bytes, never compared
public record CommandResult(int code, byte[] stdoutBytes, byte[] stderrBytes) {
  public boolean success() {
    return code == 0;
  }

  public String stdout() {
    return new String(stdoutBytes, StandardCharsets.UTF_8);
  }

  public String stderr() {
    return new String(stderrBytes, StandardCharsets.UTF_8);
  }

  /** The last line it printed, errors first: what a person needs to see of a failure. */
  public String lastLine() {
    for (String text : List.of(stderr(), stdout())) {
      String stripped = text.strip();
      if (!stripped.isEmpty()) {
        return stripped.substring(stripped.lastIndexOf('\n') + 1);
      }
    }
    return "it printed nothing";
  }
}
