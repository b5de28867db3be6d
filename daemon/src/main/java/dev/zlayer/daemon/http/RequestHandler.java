package dev.zlayer.daemon.http;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.io.EofException;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.Fields;
import org.eclipse.jetty.util.URIUtil;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;
import org.jspecify.annotations.Nullable;

/** From a request to the answer on the wire; every failure leaves as a problem document. */
final class RequestHandler extends Handler.Abstract {
  /** Also found without the prefix, where probes and scrapers look for them. */
  private static final Set<String> SHORT = Set.of("ping", "health", "metrics");

  private static final Set<String> METHODS =
      Set.of("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH");

  private final Router router;
  private final AccessControl threshold;
  private final HttpObserver observer;
  private final Log log;

  RequestHandler(Router router, AccessControl threshold, HttpObserver observer, Log log) {
    this.router = router;
    this.threshold = threshold;
    this.observer = observer;
    this.log = log;
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) {
    String id = RequestIds.of(request);
    response.getHeaders().put("X-Request-Id", id);
    // long answers and long waits are what this door is for; only idle connections are closed
    request.addIdleTimeoutListener(_ -> false);
    String template = "-";
    try (var timing = observer.begin()) {
      try {
        threshold.admit(request);
        Router.Match match = router.find(request.getMethod(), path(request));
        template = match.route().template();
        threshold.admit(request, match.route());
        var call = new ApiRequest(new RequestTransport(request, id), match.variables());
        send(match.route().action().answer(call), request, response, callback, id);
      } catch (InterruptedException | IOException | RuntimeException e) {
        fail(e, request, response, callback, id);
      }
      timing.end(label(request.getMethod()), template, response.getStatus());
      note(request, response, id);
    }
    return true;
  }

  /** Anybody can make up methods, and each label is kept for good. */
  private static String label(String method) {
    return METHODS.contains(method) ? method : "other";
  }

  private void note(Request request, Response response, String id) {
    boolean changing = !Set.of("GET", "HEAD").contains(request.getMethod());
    log.write(
        changing ? Log.Level.INFO : Log.Level.DEBUG,
        "request",
        Map.of(
            "method", request.getMethod(),
            "path", request.getHttpURI().getPath(),
            "status", response.getStatus(),
            "request_id", id));
  }

  private static List<String> path(Request request) {
    var path = new ArrayList<String>();
    for (String segment : Router.segments(request.getHttpURI().getPath())) {
      path.add(URIUtil.decodePath(segment));
    }
    if (SHORT.contains(path.getFirst())) {
      path.addAll(0, Router.segments(Router.PREFIX));
    }
    return path;
  }

  private void send(
      ApiResponse answer, Request request, Response response, Callback callback, String id)
      throws IOException, InterruptedException {
    switch (answer) {
      case ApiResponse.Whole whole -> whole(whole, request, response, callback);
      case ApiResponse.Later later -> {
        ApiResponse made;
        try (var _ = watched(request, response)) {
          made = later.maker().make();
        }
        send(made, request, response, callback, id);
      }
      case ApiResponse.Bytes bytes -> {
        headers(response, bytes.type(), bytes.headers());
        try (var _ = watched(request, response)) {
          var out = Content.Sink.asOutputStream(response);
          out.flush();
          bytes.writer().write(out);
          out.close();
        }
        callback.succeeded();
      }
      case ApiResponse.Lines lines -> {
        headers(response, ApiRequest.LINES, Map.of());
        lines(lines, request, response, callback, id);
      }
      case ApiResponse.Events events -> {
        headers(response, ApiRequest.EVENTS, Map.of("Cache-Control", "no-store"));
        try (var _ = watched(request, response)) {
          var out = Content.Sink.asOutputStream(response);
          out.flush();
          events.writer().write(new StreamWriter(out));
          out.close();
        }
        callback.succeeded();
      }
      case ApiResponse.Socket socket -> upgrade(socket, request, response, callback);
    }
  }

  private void lines(
      ApiResponse.Lines lines, Request request, Response response, Callback callback, String id)
      throws IOException, InterruptedException {
    try (var departure = watched(request, response)) {
      var out = Content.Sink.asOutputStream(response);
      var outlet = new StreamWriter(out);
      try {
        lines.writer().write(outlet);
      } catch (RuntimeException e) {
        if (departure.gone() || !response.isCommitted()) {
          throw e;
        }
        tell(e, id);
        outlet.add(ProblemDocument.of(e).line(id));
      }
      outlet.flush();
      out.close();
    }
    callback.succeeded();
  }

  private static DisconnectWatcher watched(Request request, Response response) {
    response.getHeaders().put(HttpHeader.CONNECTION, "close");
    return DisconnectWatcher.watch(request);
  }

  private static void headers(Response response, String type, Map<String, String> others) {
    response.setStatus(200);
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, type);
    others.forEach((name, value) -> response.getHeaders().put(name, value));
    if (!others.containsKey("Content-Length")) {
      // in pieces although the connection ends with it, so that a torn answer is seen to be one
      response.getHeaders().put(HttpHeader.TRANSFER_ENCODING, "chunked");
    }
  }

  private static void whole(
      ApiResponse.Whole whole, Request request, Response response, Callback callback) {
    response.setStatus(whole.status());
    if (!whole.type().isEmpty()) {
      response.getHeaders().put(HttpHeader.CONTENT_TYPE, whole.type());
      response.getHeaders().put(HttpHeader.CONTENT_LENGTH, whole.body().length);
    }
    whole.headers().forEach((name, value) -> response.getHeaders().put(name, value));
    boolean head = request.getMethod().equals("HEAD");
    response.write(true, head ? ByteBuffer.allocate(0) : ByteBuffer.wrap(whole.body()), callback);
  }

  private static void upgrade(
      ApiResponse.Socket socket, Request request, Response response, Callback callback) {
    var container =
        ServerWebSocketContainer.ensure(request.getConnectionMetaData().getConnector().getServer());
    if (!container.upgrade((_, _, _) -> socket.endpoint(), request, response, callback)) {
      throw AccessDenied.malformed("this is a WebSocket: ask for an upgrade");
    }
  }

  private void fail(
      Throwable thrown, Request request, Response response, Callback callback, String id) {
    if (thrown instanceof InterruptedException || thrown instanceof EofException) {
      callback.failed(new EofException("the client disconnected")); // nobody reads an answer
      return;
    }
    tell(thrown, id);
    if (response.isCommitted()) {
      callback.failed(thrown); // the connection breaks, so that half an answer is not taken for one
      return;
    }
    var problem = ProblemDocument.of(thrown);
    response.getHeaders().remove(HttpHeader.TRANSFER_ENCODING).remove(HttpHeader.CONTENT_LENGTH);
    whole(
        new ApiResponse.Whole(
            problem.status(), ProblemDocument.TYPE, JsonText.bytes(problem.json(id)), Map.of()),
        request,
        response,
        callback);
  }

  /** What is our fault is logged with its stack, all else is the caller's to read. */
  private void tell(Throwable thrown, String id) {
    boolean ours =
        !(thrown instanceof AccessDenied)
            && !(thrown instanceof AgentException known && known.blame() != Blame.SELF);
    if (ours) {
      log.error("a request failed", thrown, Map.of("request_id", id));
    }
  }

  /** A request of the server as a call sees it. */
  private static final class RequestTransport implements ApiRequest.Transport {
    private final Request request;
    private final String id;
    private @Nullable Fields query;

    RequestTransport(Request request, String id) {
      this.request = request;
      this.id = id;
    }

    @Override
    public String id() {
      return id;
    }

    @Override
    public List<String> query(String name) {
      if (query == null) {
        query = Request.extractQueryParameters(request);
      }
      return List.copyOf(query.getValuesOrEmpty(name));
    }

    @Override
    public @Nullable String header(String name) {
      return request.getHeaders().get(name);
    }

    @Override
    public InputStream body() {
      return Request.asInputStream(request);
    }

    @Override
    public Optional<String> remote() {
      return Optional.ofNullable(Request.getRemoteAddr(request)).filter(text -> !text.isEmpty());
    }
  }
}
