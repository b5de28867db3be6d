package dev.zlayer.daemon.http;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.IntConsumer;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.io.EofException;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.Fields;
import org.jspecify.annotations.Nullable;

/** From a request to the answer on the wire; every failure leaves as a problem document. */
final class RequestHandler extends Handler.Abstract {
  private static final Set<String> METHODS =
      Set.of("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH");

  /** The status of a request whose caller has closed the connection, as proxies log it. */
  private static final int CLOSED = 499;

  private final Function<Request, HttpApi> apis;
  private final AccessControl access;
  private final AuditSink audit;
  private final HttpObserver observer;
  private final Log log;

  /** {@code apis} gives the API of the listener that a request came to. */
  RequestHandler(
      Function<Request, HttpApi> apis,
      AccessControl access,
      AuditSink audit,
      HttpObserver observer,
      Log log) {
    this.apis = apis;
    this.access = access;
    this.audit = audit;
    this.observer = observer;
    this.log = log;
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) {
    String id = RequestIds.of(request);
    response.getHeaders().put("X-Request-Id", id);
    // long answers and long waits are what this API is for; only idle connections are closed
    request.addIdleTimeoutListener(_ -> false);
    HttpApi api = apis.apply(request);
    api.headers().forEach(response.getHeaders()::put);
    var exchange = new Exchange(request, response, callback, api, id);
    String template = "-";
    try (var timing = observer.begin()) {
      try {
        Caller caller = admitted(exchange);
        Router.Match match = api.find(request.getMethod(), request.getHttpURI().getPath());
        template = match.route().template();
        var transport = new RequestTransport(request, id);
        if (match.route().changes()) {
          exchange.record =
              status -> audit.changed(AuditEntries.of(request, caller, match, transport, status));
        }
        if (!api.open(match.route())) {
          access.admit(caller, match);
        }
        var call = new ApiRequest(transport, match.variables(), caller);
        Optional<String> _ = call.query("deployment"); // another's is refused before anything else
        send(match.route().action().answer(call), exchange);
      } catch (InterruptedException | IOException | RuntimeException e) {
        fail(e, exchange);
      }
      timing.end(label(request.getMethod()), template, response.getStatus());
      note(request, response, id);
    }
    return true;
  }

  private Caller admitted(Exchange exchange) {
    try {
      return access.admit(exchange.request);
    } catch (AccessDenied e) {
      audit.unauthenticated(
          AuditEntries.unknown(exchange.request, access.listener(exchange.request), e.status()));
      throw e;
    }
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

  private void send(ApiResponse answer, Exchange exchange)
      throws IOException, InterruptedException {
    Request request = exchange.request;
    Response response = exchange.response;
    switch (answer) {
      case ApiResponse.Whole whole -> {
        exchange.ended(whole.status());
        whole(whole, exchange);
      }
      case ApiResponse.Later later -> {
        ApiResponse made;
        try (var _ = watched(request, response)) {
          made = later.maker().make();
        }
        send(made, exchange);
      }
      case ApiResponse.Bytes bytes -> {
        headers(response, bytes.type(), bytes.headers());
        if (bytes.done()) {
          exchange.ended(200);
        }
        try (var _ = watched(request, response)) {
          var out = Content.Sink.asOutputStream(response);
          begin(bytes.writer(), out);
          bytes.writer().write(out);
          exchange.ended(200);
          out.close();
        }
        exchange.callback.succeeded();
      }
      case ApiResponse.Lines lines -> {
        headers(response, lines.type(), Map.of());
        lines(lines, exchange);
      }
      case ApiResponse.Events events -> {
        headers(response, ApiRequest.EVENTS, Map.of("Cache-Control", "no-store"));
        try (var _ = watched(request, response)) {
          var out = Content.Sink.asOutputStream(response);
          out.flush();
          events.writer().write(new StreamWriter(out));
          out.close();
        }
        exchange.callback.succeeded();
      }
      case ApiResponse.Socket socket -> {
        exchange.ended(101); // what is said there may take days
        upgrade(socket, request, response, exchange.callback);
      }
      case ApiResponse.Hijack hijack -> hijack(hijack, exchange);
    }
  }

  /** A caller who is gone already leaves nothing open. */
  private static void begin(ApiResponse.BytesWriter writer, OutputStream out) throws IOException {
    try {
      out.flush();
    } catch (IOException | RuntimeException e) {
      writer.abandon();
      throw e;
    }
  }

  private void lines(ApiResponse.Lines lines, Exchange exchange)
      throws IOException, InterruptedException {
    try (var departure = watched(exchange.request, exchange.response)) {
      var out = Content.Sink.asOutputStream(exchange.response);
      var outlet = new StreamWriter(out);
      try {
        lines.writer().write(outlet);
      } catch (RuntimeException e) {
        if (departure.gone() || !exchange.response.isCommitted()) {
          throw e;
        }
        tell(e, exchange);
        var problem = ProblemDocument.of(e);
        exchange.ended(problem.status());
        outlet.add(problem.line(exchange.id));
      }
      exchange.ended(200);
      outlet.flush();
      out.close();
    }
    exchange.callback.succeeded();
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

  private static void whole(ApiResponse.Whole whole, Exchange exchange) {
    Response response = exchange.response;
    response.setStatus(whole.status());
    if (!whole.type().isEmpty()) {
      response.getHeaders().put(HttpHeader.CONTENT_TYPE, whole.type());
      response.getHeaders().put(HttpHeader.CONTENT_LENGTH, whole.body().length);
    }
    whole.headers().forEach((name, value) -> response.getHeaders().put(name, value));
    boolean head = exchange.request.getMethod().equals("HEAD");
    response.write(
        true, head ? ByteBuffer.allocate(0) : ByteBuffer.wrap(whole.body()), exchange.callback);
  }

  private static void upgrade(
      ApiResponse.Socket socket, Request request, Response response, Callback callback) {
    var container =
        HttpListener.webSockets(request.getConnectionMetaData().getConnector().getServer());
    if (!container.upgrade((_, _, _) -> socket.endpoint(), request, response, callback)) {
      throw AccessDenied.malformed("this is a WebSocket: ask for an upgrade");
    }
  }

  /** Whatever fails from here on can only end the connection: its head was sent. */
  private void hijack(ApiResponse.Hijack hijack, Exchange exchange) {
    boolean upgrade = HijackedConnection.upgrades(exchange.request);
    exchange.ended(upgrade ? 101 : 200);
    try (var connection = HijackedConnection.take(exchange.request)) {
      try {
        if (hijack.head().isPresent()) {
          connection.begin(hijack.head().get());
        } else {
          connection.begin(upgrade, hijack.type(), exchange.response);
        }
      } catch (IOException e) {
        hijack.conversation().abandon();
        throw e;
      }
      converse(hijack.conversation(), connection);
    } catch (IOException | InterruptedException _) {
      // the client disconnected, or one side has ended the conversation
    } catch (RuntimeException e) {
      if (!Thread.currentThread().isInterrupted()) { // else because the client disconnected
        tell(e, exchange);
      }
    }
    boolean _ = Thread.interrupted();
    exchange.callback.succeeded(); // nothing is written: the connection is closed
  }

  private static void converse(ApiResponse.Conversation conversation, HijackedConnection connection)
      throws IOException, InterruptedException {
    try (var scope = new TaskScope("hang-up")) {
      if (conversation.endsWithClient()) {
        Thread worker = Thread.currentThread();
        scope.fork(() -> connection.awaitHangUp(worker));
      }
      conversation.run(connection.input(), connection.output());
    }
  }

  private void fail(Throwable thrown, Exchange exchange) {
    if (thrown instanceof InterruptedException || thrown instanceof EofException) {
      exchange.ended(CLOSED);
      exchange.callback.failed(
          new EofException("the client disconnected")); // nobody reads an answer
      return;
    }
    tell(thrown, exchange);
    ApiResponse.Whole problem = exchange.api.problem(thrown, exchange.id);
    exchange.ended(problem.status());
    if (exchange.response.isCommitted()) {
      // the connection breaks, so that half an answer is not taken for one
      exchange.callback.failed(thrown);
      return;
    }
    exchange
        .response
        .getHeaders()
        .remove(HttpHeader.TRANSFER_ENCODING)
        .remove(HttpHeader.CONTENT_LENGTH);
    whole(problem, exchange);
  }

  /** What is our fault is logged with its stack, all else is the caller's to read. */
  private void tell(Throwable thrown, Exchange exchange) {
    boolean ours =
        !exchange.api.refusal(thrown)
            && !(thrown instanceof AgentException known && known.blame() != Blame.SELF);
    if (ours) {
      log.error("a request failed", thrown, Map.of("request_id", exchange.id));
    }
  }

  /** A request and its answer; the end of a change is recorded once, before the caller reads it. */
  private static final class Exchange {
    final Request request;
    final Response response;
    final Callback callback;
    final HttpApi api;
    final String id;
    IntConsumer record = _ -> {};

    Exchange(Request request, Response response, Callback callback, HttpApi api, String id) {
      this.request = request;
      this.response = response;
      this.callback = callback;
      this.api = api;
      this.id = id;
    }

    void ended(int status) {
      IntConsumer once = record;
      record = _ -> {};
      once.accept(status);
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
    public String method() {
      return request.getMethod();
    }

    @Override
    public String target() {
      return request.getHttpURI().getPathQuery();
    }

    @Override
    public Optional<String> remote() {
      return Optional.ofNullable(Request.getRemoteAddr(request)).filter(text -> !text.isEmpty());
    }
  }
}
