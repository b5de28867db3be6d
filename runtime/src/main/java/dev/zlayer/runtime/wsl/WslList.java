package dev.zlayer.runtime.wsl;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads what {@code wsl.exe} says about its distributions. */
final class WslList {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final Pattern LINE =
      Pattern.compile("\\s*(\\*)?\\s*(\\S.*?)\\s{2,}(\\S+)\\s{2,}([12])\\s*");

  private WslList() {}

  /** One distribution; version 1 has no kernel of its own. */
  record Entry(String name, boolean standard, String state, int version) {
    boolean running() {
      return state.toLowerCase(Locale.ROOT).equals("running");
    }
  }

  /**
   * Asks.
   *
   * @throws AgentException.Configuration there is no WSL here
   */
  static List<Entry> read(String program) throws InterruptedException {
    CommandResult result;
    try {
      result = Processes.run(Command.of(program, "--list", "--verbose"), Deadline.after(TIMEOUT));
    } catch (AgentException.Configuration e) {
      throw new AgentException.Configuration(
          "WSL is not installed (%s): run 'wsl --install' as administrator and start the machine anew"
              .formatted(e.getMessage()),
          e);
    }
    return parse(text(result.stdoutBytes()));
  }

  /** Lines without a state and a version are titles or advice, in whatever language. */
  static List<Entry> parse(String text) {
    var entries = new ArrayList<Entry>();
    for (String line : text.lines().toList()) {
      Matcher matcher = LINE.matcher(line);
      if (matcher.matches()) {
        entries.add(
            new Entry(
                matcher.group(2),
                matcher.group(1) != null,
                matcher.group(3),
                Integer.parseInt(matcher.group(4))));
      }
    }
    return entries;
  }

  /** What wsl.exe itself prints is in 16-bit units, unless it was told otherwise. */
  static String text(byte[] bytes) {
    boolean wide = false;
    for (int i = 1; i < Math.min(bytes.length, 64); i += 2) {
      wide |= bytes[i] == 0;
    }
    String text = new String(bytes, wide ? StandardCharsets.UTF_16LE : StandardCharsets.UTF_8);
    return text.startsWith("\uFEFF") ? text.substring(1) : text;
  }

  static String lastLine(CommandResult result) {
    for (byte[] bytes : List.of(result.stderrBytes(), result.stdoutBytes())) {
      String text = text(bytes).strip();
      if (!text.isEmpty()) {
        return text.lines().reduce("", (_, line) -> line);
      }
    }
    return "it printed nothing";
  }
}
