package dev.zlayer.host.http;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.io.ByteArrayOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Speaks HTTP/1.1 to one server. Blocks; any number of threads may ask at the same time, each on a
 * connection of its own. A deadline covers an exchange up to the end of its body. Failures are
 * {@link AgentException.Network}, a passed deadline is {@link AgentException.Timeout}; an interrupt
 * closes the connection. Nothing is sent twice.
 */
public final class HttpClient implements AutoCloseable {
  private static final Set<String> BODILESS = Set.of("GET", "HEAD", "DELETE");

  private final HttpAddress address;
  private final HttpLimits limits;
  private final Deque<HttpConnection> idle = new ArrayDeque<>();
  private boolean closed;

  private HttpClient(HttpAddress address, HttpLimits limits) {
    this.address = address;
    this.limits = limits;
  }

  /** Connects when it is asked for something, not before. */
  public static HttpClient open(HttpAddress address) {
    return open(address, HttpLimits.DEFAULT);
  }

  public static HttpClient open(HttpAddress address, HttpLimits limits) {
    return new HttpClient(address, limits);
  }

  public HttpAddress address() {
    return address;
  }

  /** Whatever status the answer has; the caller reads or closes its body. */
  public HttpResponse send(HttpRequest request, Deadline deadline) throws InterruptedException {
    deadline.check(doing(request));
    return respond(request, begin(request, end -> ExpiryLoop.watch(deadline, end)));
  }

  /**
   * As {@link #send}, for bodies that take as long as they take: it ends when nothing was sent or
   * came for that long.
   */
  public HttpResponse send(HttpRequest request, Duration silence) throws InterruptedException {
    return send(request, silence, Patience.NONE);
  }

  /**
   * The same for what may be silent for long: when it was, somebody is asked whether to wait on.
   */
  public HttpResponse send(HttpRequest request, Duration silence, Patience patience)
      throws InterruptedException {
    return respond(request, begin(request, end -> ExpiryLoop.watch(silence, patience, end)));
  }

  /**
   * Asks to take the connection over; the request names the protocol in its {@code Upgrade} header.
   * The deadline ends with the answer.
   */
  public Upgraded upgrade(HttpRequest request, Deadline deadline) throws InterruptedException {
    deadline.check(doing(request));
    Exchange exchange =
        begin(request.with("Connection", "Upgrade"), end -> ExpiryLoop.watch(deadline, end));
    if (exchange.head.status() != 101) {
      return new Upgraded.Refused(respond(request, exchange));
    }
    if (!exchange.expiry.end()) {
      throw new AgentException.Timeout(doing(request), deadline.limit());
    }
    return new Upgraded.Accepted(exchange.head.headers(), new Duplex(exchange.wire));
  }

  /** Ends idle connections; exchanges under way go on and are not kept afterwards. */
  @Override
  public void close() {
    synchronized (idle) {
      closed = true;
      idle.forEach(HttpConnection::close);
      idle.clear();
    }
  }

  private record Exchange(
      HttpConnection wire, ExpiryLoop expiry, HttpHead head, boolean requestSent) {}

  /** Sends the request and reads the answer up to its body. */
  private Exchange begin(HttpRequest request, Function<Runnable, ExpiryLoop> watch)
      throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException(doing(request) + " was interrupted");
    }
    HttpConnection wire = null;
    ExpiryLoop expiry = null;
    try {
      HttpConnection kept = takeIdle();
      wire = kept == null ? new HttpConnection(address) : kept;
      expiry = watch.apply(wire::close);
      if (kept == null) {
        wire.connect(address);
      }
      boolean sent = write(request, wire, expiry);
      HttpHead head = HttpHead.read(wire.in(), limits);
      return new Exchange(wire, expiry, head, sent);
    } catch (IOException e) {
      throw failed(request, e, wire, expiry);
    } catch (RuntimeException | Error e) {
      abandon(wire, expiry);
      throw e;
    }
  }

  private AgentException failed(
      HttpRequest request,
      IOException e,
      @Nullable HttpConnection wire,
      @Nullable ExpiryLoop expiry)
      throws InterruptedException {
    boolean late = expiry != null && expiry.fired();
    abandon(wire, expiry);
    return HttpFailure.translate(
        doing(request),
        late && expiry != null ? new HttpFailure.Expired(expiry.deadline().limit()) : e);
  }

  private static void abandon(@Nullable HttpConnection wire, @Nullable ExpiryLoop expiry) {
    if (expiry != null) {
      expiry.end();
    }
    if (wire != null) {
      wire.close();
    }
  }

  private HttpResponse respond(HttpRequest request, Exchange exchange) throws InterruptedException {
    HttpHead head = exchange.head;
    try {
      if (head.status() == 101) {
        throw new IOException("the peer changed the protocol unasked");
      }
      HttpBody body = HttpBody.of(request.method(), head, exchange.wire.in(), limits);
      boolean keep =
          head.http11()
              && exchange.requestSent
              && !head.headers().says("Connection", "close")
              && (head.headers().all("Content-Length").isEmpty()
                  || head.headers().all("Transfer-Encoding").isEmpty());
      var stream =
          new ResponseStream(
              exchange.wire, body, exchange.expiry, keep ? this::keep : HttpConnection::close);
      return new HttpResponse(head.status(), head.headers(), stream);
    } catch (IOException e) {
      throw failed(request, e, exchange.wire, exchange.expiry);
    }
  }

  /**
   * Returns false when the server stopped listening: it may have answered before it had read
   * everything, and then its answer is what counts.
   */
  private boolean write(HttpRequest request, HttpConnection wire, ExpiryLoop expiry)
      throws IOException {
    byte[] head = head(request);
    if (request.body() instanceof HttpRequest.Body.Bytes(byte[] bytes)) {
      var whole = new ByteArrayOutputStream(head.length + bytes.length);
      whole.writeBytes(head);
      whole.writeBytes(bytes);
      return lenient(wire, out -> out.write(whole.toByteArray()));
    }
    wire.out().write(head);
    if (request.body() instanceof HttpRequest.Body.Streamed(var writer)) {
      var chunks = new ChunkedOutput(new HeardOutput(wire.out(), expiry));
      try {
        writer.to(chunks);
        chunks.finish();
      } catch (ChunkedOutput.PeerGone _) {
        return false;
      }
    }
    return true;
  }

  private static boolean lenient(HttpConnection wire, HttpRequest.Writer writer)
      throws IOException {
    try {
      writer.to(wire.out());
      return true;
    } catch (java.nio.channels.ClosedChannelException e) {
      throw e;
    } catch (IOException _) {
      return false;
    }
  }

  private byte[] head(HttpRequest request) {
    var text = new StringBuilder(256);
    text.append(request.method()).append(' ').append(request.target()).append(" HTTP/1.1\r\n");
    text.append("Host: ").append(address.authority()).append("\r\n");
    request
        .headers()
        .entries()
        .forEach(entry -> text.append(entry.name() + ": " + entry.value() + "\r\n"));
    if (request.body() instanceof HttpRequest.Body.Bytes(byte[] bytes)) {
      text.append("Content-Length: ").append(bytes.length).append("\r\n");
    } else if (request.body() instanceof HttpRequest.Body.Streamed) {
      text.append("Transfer-Encoding: chunked\r\n");
    } else if (!BODILESS.contains(request.method())) {
      text.append("Content-Length: 0\r\n");
    }
    return text.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1);
  }

  private @Nullable HttpConnection takeIdle() {
    while (true) {
      HttpConnection wire;
      synchronized (idle) {
        wire = idle.pollLast();
      }
      if (wire == null || wire.fresh()) {
        return wire;
      }
      wire.close();
    }
  }

  private void keep(HttpConnection wire) {
    synchronized (idle) {
      if (!closed && wire.reusable() && idle.size() < limits.idleConnections()) {
        idle.addLast(wire);
        return;
      }
    }
    wire.close();
  }

  private String doing(HttpRequest request) {
    return request + " at " + address;
  }

  /** Whatever the peer takes is a sign of it. */
  private static final class HeardOutput extends FilterOutputStream {
    private final ExpiryLoop expiry;

    HeardOutput(OutputStream out, ExpiryLoop expiry) {
      super(out);
      this.expiry = expiry;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      out.write(bytes, offset, length);
      expiry.heard();
    }
  }
}
