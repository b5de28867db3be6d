package dev.zlayer.container;

import dev.zlayer.error.AgentException;
import java.util.List;
import java.util.Locale;

/** A Linux signal by number; real-time signals are {@code RTMIN+n}. */
public record Signal(int number) {
  private static final List<String> NAMES =
      List.of(
          "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
          "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
          "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS");
  private static final int RTMIN = 34;
  private static final int RTMAX = 64;

  public static final Signal TERM = parse("TERM");
  public static final Signal KILL = parse("KILL");

  public Signal {
    if (number < 1 || number > RTMAX) {
      throw new AgentException.InvalidSpec("signal %d is not between 1 and 64".formatted(number));
    }
  }

  /** By name with or without {@code SIG}, in any case, or by number. */
  public static Signal parse(String text) {
    String name = text.strip().toUpperCase(Locale.ROOT);
    if (name.matches("[0-9]{1,3}")) {
      return new Signal(Integer.parseInt(name));
    }
    name = name.startsWith("SIG") ? name.substring(3) : name;
    int index = NAMES.indexOf(alias(name));
    if (index >= 0) {
      return new Signal(index + 1);
    }
    if (name.matches("RTMIN(\\+[0-9]{1,2})?")) {
      return new Signal(RTMIN + offset(name));
    }
    if (name.matches("RTMAX(-[0-9]{1,2})?")) {
      return new Signal(RTMAX - offset(name));
    }
    throw new AgentException.InvalidSpec(
        "'" + text + "' is not a signal: write a name such as TERM or a number from 1 to 64");
  }

  /** With the {@code SIG} prefix, as people know it. */
  public String signalName() {
    if (number <= NAMES.size()) {
      return "SIG" + NAMES.get(number - 1);
    }
    return number >= RTMIN ? "SIGRTMIN+" + (number - RTMIN) : "signal " + number;
  }

  @Override
  public String toString() {
    return signalName();
  }

  private static String alias(String name) {
    return switch (name) {
      case "CLD" -> "CHLD";
      case "IOT" -> "ABRT";
      case "POLL" -> "IO";
      default -> name;
    };
  }

  private static int offset(String name) {
    return name.length() > 6 ? Integer.parseInt(name.substring(6)) : 0;
  }
}
