package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import dev.zlayer.spec.problem.Nearest;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A Linux signal, always as number and {@code SIG...} name. */
@TextForm(
    is = "a signal",
    example = "SIGTERM",
    pattern = "^([A-Za-z]+[0-9]*([+-][0-9]+)?|[0-9]+)$",
    number = true)
public record SignalName(int number, String name) {
  private static final List<String> NAMES =
      List.of(
          "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
          "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
          "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS");
  private static final int REALTIME_MIN = 34;
  private static final int REALTIME_MAX = 64;
  private static final Pattern REALTIME = Pattern.compile("RT(MIN|MAX)(?:([+-])([0-9]{1,2}))?");

  /** Accepts {@code TERM}, {@code SIGTERM}, {@code 15}, {@code RTMIN+3}, in any case. */
  public static SignalName parse(String text) {
    String upper = text.strip().toUpperCase(Locale.ROOT);
    String word = upper.startsWith("SIG") ? upper.substring(3) : upper;
    if (word.matches("[0-9]{1,3}")) {
      return of(Integer.parseInt(word), text);
    }
    Matcher realtime = REALTIME.matcher(word);
    if (realtime.matches()) {
      int base = realtime.group(1).equals("MIN") ? REALTIME_MIN : REALTIME_MAX;
      int offset = realtime.group(3) == null ? 0 : Integer.parseInt(realtime.group(3));
      return of("-".equals(realtime.group(2)) ? base - offset : base + offset, text);
    }
    int index = NAMES.indexOf(word.equals("POLL") ? "IO" : word.equals("IOT") ? "ABRT" : word);
    if (index < 0) {
      String hint =
          Nearest.to(word, NAMES)
              .map(name -> ", did you mean 'SIG" + name + "'?")
              .orElse(", write a name such as SIGTERM");
      throw new AgentException.InvalidSpec("'%s' is not a signal%s".formatted(text, hint));
    }
    return of(index + 1, text);
  }

  private static SignalName of(int number, String text) {
    if (number >= 1 && number <= NAMES.size()) {
      return new SignalName(number, "SIG" + NAMES.get(number - 1));
    }
    if (number >= REALTIME_MIN && number <= REALTIME_MAX) {
      String offset = number == REALTIME_MIN ? "" : "+" + (number - REALTIME_MIN);
      return new SignalName(number, "SIGRTMIN" + offset);
    }
    throw new AgentException.InvalidSpec(
        "'%s' is not a signal, write a name such as SIGTERM".formatted(text));
  }
}
