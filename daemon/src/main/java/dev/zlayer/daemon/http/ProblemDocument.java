package dev.zlayer.daemon.http;

import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.error.Statuses;
import dev.zlayer.json.Json;
import dev.zlayer.runtime.oci.exec.ExecExit;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;

/**
 * How every failure is reported: RFC 9457 with our kind, blame and request id. The only such place.
 *
 * @param exitCode what a shell reports when a program could not be started for this reason
 */
public record ProblemDocument(
    int status,
    String kind,
    Blame blame,
    String detail,
    List<String> lastLines,
    OptionalInt exitCode) {
  public static final String TYPE = "application/problem+json";

  public static ProblemDocument of(Throwable thrown) {
    return switch (thrown) {
      case AgentException ours ->
          new ProblemDocument(
              Statuses.of(ours),
              ours.kind(),
              ours.blame(),
              String.valueOf(ours.getMessage()),
              lastLines(ours),
              exitCode(ours));
      case AccessDenied refusal ->
          new ProblemDocument(
              refusal.status(),
              refusal.title(),
              refusal.status() < 500 ? Blame.REQUEST : Blame.SELF,
              String.valueOf(refusal.getMessage()),
              List.of(),
              OptionalInt.empty());
      default ->
          new ProblemDocument(
              500,
              "Internal",
              Blame.SELF,
              "internal error, the log of the agent has the details under the request id",
              List.of(),
              OptionalInt.empty());
    };
  }

  /** Shells say 127 for a program that does not exist and 126 for one that cannot run. */
  private static OptionalInt exitCode(AgentException error) {
    return error instanceof AgentException.StartFailed
        ? ExecExit.notStarted(String.valueOf(error.getMessage()).lines().findFirst().orElse(""))
        : OptionalInt.empty();
  }

  private static List<String> lastLines(AgentException error) {
    return switch (error) {
      case AgentException.StartFailed failed -> failed.lastLines();
      case AgentException.UnexpectedExit exit -> exit.lastLines();
      default -> List.of();
    };
  }

  /** The document; {@code requestId} finds it again in the agent's log. */
  public Json.Obj json(String requestId) {
    var json =
        Json.object()
            .put("type", "urn:zlayer:problem:" + kind)
            .put("title", title())
            .put("status", status)
            .put("kind", kind)
            .put("blame", blame)
            .put("detail", detail)
            .put("request_id", requestId);
    if (!lastLines.isEmpty()) {
      json.put("last_lines", lastLines);
    }
    exitCode.ifPresent(code -> json.put("exit_code", code));
    return json.build();
  }

  /** The same as the last line of a stream that had begun. */
  Json.Obj line(String requestId) {
    var line = Json.object();
    json(requestId).members().forEach(line::put);
    return line.put("type", "error").build();
  }

  private String title() {
    return kind.replaceAll("([a-z])([A-Z])", "$1 $2").toLowerCase(Locale.ROOT);
  }
}
