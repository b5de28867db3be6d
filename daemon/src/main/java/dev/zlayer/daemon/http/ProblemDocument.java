package dev.zlayer.daemon.http;

import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.error.Statuses;
import dev.zlayer.json.Json;
import java.util.List;
import java.util.Locale;

/** How every failure is told: RFC 9457 with our kind, blame and request id. The only such place. */
public record ProblemDocument(
    int status, String kind, Blame blame, String detail, List<String> lastLines) {
  public static final String TYPE = "application/problem+json";

  public static ProblemDocument of(Throwable thrown) {
    return switch (thrown) {
      case AgentException ours ->
          new ProblemDocument(
              Statuses.of(ours),
              ours.kind(),
              ours.blame(),
              String.valueOf(ours.getMessage()),
              lastLines(ours));
      case Refusal refusal ->
          new ProblemDocument(
              refusal.status(),
              refusal.title(),
              refusal.status() < 500 ? Blame.REQUEST : Blame.SELF,
              String.valueOf(refusal.getMessage()),
              List.of());
      default ->
          new ProblemDocument(
              500, "Internal", Blame.SELF, "a fault of the agent: " + thrown, List.of());
    };
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
