package dev.zlayer.cli.client;

import dev.zlayer.error.Blame;
import dev.zlayer.json.Json;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Something that the daemon refused or failed at, in its own words. It is not one of our twenty-one
 * kinds again: those carry the facts of the place where they were thrown, which is not here.
 */
public final class DaemonProblem extends RuntimeException {
  /** Where in the body of a request: no person at a command line has written that. */
  private static final Pattern POSITION = Pattern.compile("(?m)^body:\\d+:\\d+: ");

  private final transient Json problem;

  public DaemonProblem(Json problem) {
    super(text(problem));
    this.problem = problem;
  }

  /** The name of the kind, such as {@code NotFound}. */
  public String kind() {
    return problem.at("kind").string().orElse("Internal");
  }

  public Blame blame() {
    String word = problem.at("blame").string().orElse("").toUpperCase(Locale.ROOT);
    return Arrays.stream(Blame.values())
        .filter(blame -> blame.name().equals(word))
        .findFirst()
        .orElse(Blame.SELF);
  }

  /** What the process exits with: as a shell for a program that cannot run, else by the blame. */
  public int exitCode() {
    return problem
        .at("exit_code")
        .integer()
        .map(Long::intValue)
        .orElseGet(() -> blame().exitCode());
  }

  public boolean notFound() {
    return kind().equals("NotFound");
  }

  /** Whether something there has to be put in order, such as a damaged image. */
  public boolean configuration() {
    return kind().equals("Configuration");
  }

  /** Whether the daemon, perhaps of an earlier version, has no such request. */
  public boolean unknownRequest() {
    return kind().equals("NoRoute");
  }

  /** The problem as it came, for {@code --json}. */
  public Json json() {
    return problem;
  }

  private static String text(Json problem) {
    String detail =
        problem
            .at("detail")
            .string()
            .or(() -> problem.at("title").string())
            .orElse("the daemon failed without giving a reason");
    detail = POSITION.matcher(detail).replaceAll("");
    List<String> lines = problem.at("last_lines").strings();
    return lines.isEmpty() || detail.contains(lines.getLast())
        ? detail
        : detail + "; last output:\n  " + String.join("\n  ", lines);
  }
}
