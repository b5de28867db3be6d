package dev.zlayer.daemon.http;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * One line of the route table: what is asked how, what for, and who answers. The OpenAPI document
 * and the reference are made from the same lines.
 *
 * @param template below {@code /api/v1}; {@code {name}} stands for one segment, {@code {name*}} for
 *     the rest
 * @param viewable the read-only socket may have it, too: it changes nothing and gives out neither
 *     secrets nor files; said of each route, so that a new one is not by accident
 * @param frees it frees space on the disk, so the reserve is released for it
 */
public record Route(
    String method,
    String template,
    String summary,
    List<Parameter> parameters,
    Optional<Body> body,
    List<Result> results,
    boolean viewable,
    boolean frees,
    RouteHandler action) {
  private static final String KEY = "Idempotency-Key";

  /** They are asked with POST and change nothing. */
  private static final Set<String> QUESTIONS =
      Set.of(
          "/containers/{ref}/wait",
          "/containers/{name}/wait",
          "/deployments/{name}/diff",
          "/cluster/blobs");

  public Route {
    parameters = List.copyOf(parameters);
    results = List.copyOf(results);
  }

  /** A parameter of the query, or a header; {@code type} as JSON Schema calls it. */
  public record Parameter(String name, String in, String type, boolean required, String doc) {
    Parameter(String name, String type, boolean required, String doc) {
      this(name, "query", type, required, doc);
    }
  }

  /** What may be sent: a record's keys, or plain bytes of a media type. */
  public record Body(String mediaType, Optional<Class<? extends Record>> type, String doc) {}

  /** What comes back when all is well; a list of the type when {@code many}. */
  public record Result(
      int status, String mediaType, Optional<Class<?>> type, boolean many, String doc) {}

  /** A question that the read-only socket answers, too. */
  public static Route view(String template, String summary, RouteHandler action) {
    Route route = get(template, summary, action);
    return new Route(
        route.method,
        template,
        summary,
        List.of(),
        Optional.empty(),
        List.of(),
        true,
        false,
        action);
  }

  public static Route get(String template, String summary, RouteHandler action) {
    return of("GET", template, summary, action);
  }

  public static Route post(String template, String summary, RouteHandler action) {
    return of("POST", template, summary, action);
  }

  public static Route put(String template, String summary, RouteHandler action) {
    return of("PUT", template, summary, action);
  }

  public static Route delete(String template, String summary, RouteHandler action) {
    return of("DELETE", template, summary, action);
  }

  public static Route head(String template, String summary, RouteHandler action) {
    return of("HEAD", template, summary, action);
  }

  private static Route of(String method, String template, String summary, RouteHandler action) {
    return new Route(
        method, template, summary, List.of(), Optional.empty(), List.of(), false, false, action);
  }

  /** Adds a text parameter. */
  public Route with(String name, String doc) {
    return with(new Parameter(name, "string", false, doc));
  }

  public Route withHeader(String name, String doc) {
    return with(new Parameter(name, "header", "string", false, doc));
  }

  public Route withFlag(String name, String doc) {
    return with(new Parameter(name, "boolean", false, doc));
  }

  public Route withNumber(String name, String doc) {
    return with(new Parameter(name, "integer", false, doc));
  }

  public Route withRequired(String name, String doc) {
    return with(new Parameter(name, "string", true, doc));
  }

  /** Takes a header {@code Idempotency-Key}, so that sending it twice does it once. */
  public Route repeatableByKey() {
    return withHeader(
        KEY,
        "A repeated request with the same key within a day changes nothing and gets the first"
            + " answer; another request with that key is refused.");
  }

  /** Whether it changes something or reaches into a container, and so belongs in the audit log. */
  public boolean changes() {
    boolean reads = method.equals("GET") || method.equals("HEAD") || QUESTIONS.contains(template);
    return !reads || results.stream().anyMatch(result -> result.status() == 101);
  }

  public boolean repeatable() {
    return parameters.stream().anyMatch(parameter -> parameter.name().equals(KEY));
  }

  private Route with(Parameter parameter) {
    var all = new ArrayList<>(parameters);
    all.add(parameter);
    return new Route(method, template, summary, all, body, results, viewable, frees, action);
  }

  public Route takes(Class<? extends Record> type) {
    return takes(new Body(ApiRequest.JSON, Optional.of(type), ""));
  }

  public Route takes(String mediaType, String doc) {
    return takes(new Body(mediaType, Optional.empty(), doc));
  }

  private Route takes(Body body) {
    return new Route(
        method, template, summary, parameters, Optional.of(body), results, viewable, frees, action);
  }

  public Route gives(Class<?> type) {
    return gives(new Result(200, ApiRequest.JSON, Optional.of(type), false, "what was asked for"));
  }

  /** A list, of which callers may ask for a part. */
  public Route givesMany(Class<?> type) {
    Route paged =
        parameters.stream().anyMatch(parameter -> parameter.name().equals(Paging.LIMIT))
            ? this // it has its own way
            : withNumber(Paging.LIMIT, "Maximum number of items (default: all).")
                .withNumber(Paging.OFFSET, "Number of items to skip.")
                .with(Paging::around);
    return paged.gives(new Result(200, ApiRequest.JSON, Optional.of(type), true, "all of them"));
  }

  public Route creates(Class<?> type) {
    return gives(new Result(201, ApiRequest.JSON, Optional.of(type), false, "it was made"));
  }

  public Route streams(Class<?> type, String doc) {
    return gives(new Result(200, ApiRequest.LINES, Optional.of(type), false, doc));
  }

  public Route givesType(String mediaType, String doc) {
    return gives(new Result(200, mediaType, Optional.empty(), false, doc));
  }

  public Route givesNothing() {
    return gives(new Result(204, "", Optional.empty(), false, "done"));
  }

  /** The connection becomes a WebSocket. */
  public Route upgrades(String doc) {
    return gives(new Result(101, "", Optional.empty(), false, doc));
  }

  private Route gives(Result result) {
    var all = new ArrayList<>(results);
    all.add(result);
    return new Route(method, template, summary, parameters, body, all, viewable, frees, action);
  }

  /** Frees space on the disk. */
  public Route freeing() {
    return new Route(method, template, summary, parameters, body, results, viewable, true, action);
  }

  /** The same with something around its action. */
  public Route with(UnaryOperator<RouteHandler> around) {
    return new Route(
        method,
        template,
        summary,
        parameters,
        body,
        results,
        viewable,
        frees,
        around.apply(action));
  }
}
