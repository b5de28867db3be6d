package dev.zlayer.daemon.rest.doc;

import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.http.Router;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.daemon.rest.RouteScopes;
import java.util.List;

/** The routes as a page for people. */
public final class ApiReference {
  private static final String INTRODUCTION =
      """
      # REST interface

      Generated from the routes of the daemon; the machine-readable form is `GET /api/v1/openapi.json`.
      Everything lies below `/api/v1`, on the unix socket `zlayer.sock` in the run directory; `/ping`,
      `/health/*` and `/metrics` are also found without the prefix.

          curl --unix-socket /run/zlayer/zlayer.sock http://localhost/api/v1/containers

      - Keys are in snake_case, times ISO 8601 in UTC, sizes bytes. Durations in answers
        are ISO 8601 such as `PT10S`; in requests `10s` is written.
      - A body is checked key by key; every problem is reported at once.
      - Errors are `application/problem+json`: `type`, `title`, `status`, `kind`, `blame` (request,
        workload, outside, placement, self), `detail`, `request_id`, and `last_lines` of a container's
        output where there are some. The request id is also in the header `X-Request-Id` and in the log.
      - Streams are `application/x-ndjson`: one object per line, flushed. What fails after the first line
        is told by a last line with `type` error and the fields of a problem. Disconnecting ends the stream, and
        a pull or an exec with it.
      - `{ref}` is a container's id or a unique beginning of it, the name of a standalone container, or
        `deployment:service[:replica]`.
      - On TCP callers send `Authorization: Bearer TOKEN`: the token of `token_file`, or a scoped one
        (`zlayer token create`). Read-only tokens get what is also on the read-only socket; what tokens of
        a deployment get is said of each route.

      ## Terminals

      `exec/ws` and `attach/ws` are WebSockets. Binary frames begin with a byte that names the stream: 0
      input, 1 output, 2 errors. Text frames are JSON: `{"resize":{"columns":80,"rows":24}}`,
      `{"signal":"INT"}` (attach only) and `{"close_stdin":true}` to the agent; `{"exit":{"code":0}}` or
      `{"error":{...}}` from it, and `{"discarded":4096}` when so many bytes of an attached container's output
      were read too slowly (over 4 MiB behind; the log has them, and `attach/ws?logs=true` reads it);
      with `logs=true` `{"gap":true}` before output where rotation of the log dropped some. Leaving ends a process of `exec` and leaves one of `attach` running.

      """;

  private ApiReference() {}

  public static String markdown(List<Resource> resources) {
    var text = new StringBuilder(INTRODUCTION);
    for (Resource resource : resources) {
      text.append("## ").append(resource.title()).append("\n\n");
      resource.routes().forEach(route -> append(route, text));
    }
    return text.toString().stripTrailing() + "\n";
  }

  private static void append(Route route, StringBuilder text) {
    text.append("### `%s %s`\n\n".formatted(route.method(), Router.PREFIX + route.template()));
    text.append(route.summary())
        .append(route.viewable() ? " Also on the read-only socket." : "")
        .append(" Tokens of a deployment: %s.".formatted(RouteScopes.of(route).text()))
        .append("\n\n");
    if (!route.parameters().isEmpty()) {
      text.append("| parameter | value | meaning |\n|---|---|---|\n");
      for (Route.Parameter parameter : route.parameters()) {
        text.append(
            "| `%s`%s | %s | %s |\n"
                .formatted(
                    parameter.name(),
                    parameter.required() ? " (required)" : "",
                    parameter.in().equals("header") ? "header" : parameter.type(),
                    parameter.doc().replace("|", "\\|")));
      }
      text.append('\n');
    }
    route
        .body()
        .ifPresent(
            body ->
                text.append(
                    "Takes `%s`%s%s\n\n"
                        .formatted(
                            body.mediaType(),
                            body.type().map(type -> ": " + ViewSchema.name(type)).orElse(""),
                            body.doc().isEmpty() ? "." : ": " + body.doc())));
    for (Route.Result result : route.results()) {
      text.append(
          "- %d%s%s: %s\n"
              .formatted(
                  result.status(),
                  result.mediaType().isEmpty() ? "" : " `" + result.mediaType() + "`",
                  result
                      .type()
                      .map(type -> (result.many() ? " list of " : " ") + ViewSchema.name(type))
                      .orElse(""),
                  result.doc()));
    }
    text.append('\n');
  }
}
