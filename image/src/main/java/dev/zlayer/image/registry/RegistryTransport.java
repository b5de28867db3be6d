package dev.zlayer.image.registry;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.net.LocalTargets;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.SocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Sends single requests. It follows redirects itself, because only it knows which header belongs to
 * which host, and turns what the JDK throws into {@link RegistryException}.
 *
 * <p>HTTP/1.1 only: every parallel layer then has a connection and a flow control of its own, and
 * no window of megabytes per stream has to fit into the heap.
 */
final class RegistryTransport implements AutoCloseable {
  private static final int MAX_REDIRECTS = 5;
  private static final String AGENT = "zlayer";

  static {
    // the JDK keeps passwords for proxies to itself otherwise, also those that were set for them
    System.getProperties().putIfAbsent("jdk.http.auth.tunneling.disabledSchemes", "");
  }

  private static final int PROXY_DENIES = 407;

  private final RegistriesConfig config;
  private final ForwardProxies proxies;
  private final Timeouts timeouts;

  /**
   * Whom to trust besides those that the system trusts.
   *
   * @param anyone whatever certificate is shown
   */
  private record Trust(Optional<Path> caFile, boolean anyone) {}

  private final Map<Trust, HttpClient> clients = new ConcurrentHashMap<>();

  RegistryTransport(RegistriesConfig config, ForwardProxies proxies, Timeouts timeouts) {
    this.config = config;
    this.proxies = proxies;
    this.timeouts = timeouts;
  }

  /**
   * A request without its place in the world.
   *
   * @param authorization only for the origin of {@code uri}
   */
  record Ask(
      String method,
      URI uri,
      Map<String, String> headers,
      Optional<String> authorization,
      Payload payload) {
    static Ask of(String method, URI uri, Map<String, String> headers) {
      return new Ask(method, uri, headers, Optional.empty(), Payload.NONE);
    }

    Ask withAuthorization(Optional<String> value) {
      return new Ask(method, uri, headers, value, payload);
    }

    Ask withPayload(Payload bytes) {
      return new Ask(method, uri, headers, authorization, bytes);
    }
  }

  /** The answer at the end of all redirects; the caller closes it. */
  RegistryResponse send(Ask ask, String host) throws RegistryException, InterruptedException {
    Ask next = ask;
    for (int hops = 0; hops <= MAX_REDIRECTS; hops++) {
      RegistryResponse answer = exchange(next, host);
      if (!answer.redirected()) {
        return answer;
      }
      try (answer) {
        next = redirect(next, answer);
        answer.body().drain();
      }
    }
    throw unsound(ask.uri(), "more than %d times".formatted(MAX_REDIRECTS));
  }

  private static Ask redirect(Ask from, RegistryResponse answer) throws RegistryException {
    String location =
        answer.header("Location").orElseThrow(() -> unsound(from.uri(), "to nowhere"));
    URI target = target(from.uri(), location);
    boolean mayKnow = Hosts.sameOrigin(from.uri(), target);
    return new Ask(
        from.method(),
        target,
        from.headers(),
        mayKnow ? from.authorization() : Optional.empty(),
        mayKnow ? from.payload() : Payload.NONE);
  }

  /** Where an answer refers to; refused unless it is safe to go there. */
  static URI target(URI from, String location) throws RegistryException {
    URI target;
    try {
      target = from.resolve(location);
    } catch (IllegalArgumentException _) {
      throw unsound(from, "to '%s'".formatted(RegistryResponse.printable(location)));
    }
    boolean http = Hosts.plain(target) || "https".equalsIgnoreCase(target.getScheme());
    if (!http || target.getHost() == null || target.getRawUserInfo() != null) {
      throw unsound(from, "to '%s'".formatted(RegistryResponse.printable(location)));
    }
    if (Hosts.plain(target) && !Hosts.plain(from)) {
      throw unsound(from, "from https to plain http");
    }
    if (!LocalTargets.mayRefer(from.getHost(), target.getHost())) {
      throw unsound(
          from, "to '%s', which is this machine".formatted(RegistryResponse.printable(location)));
    }
    return target;
  }

  private RegistryResponse exchange(Ask ask, String host)
      throws RegistryException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(ask.uri())
            .header("User-Agent", AGENT)
            .method(ask.method(), ask.payload().publisher());
    ask.headers().forEach(request::header);
    ask.authorization().ifPresent(value -> request.header("Authorization", value));
    Optional<ForwardProxies.Server> proxy = proxies.of(ask.uri());
    proxy
        .flatMap(ForwardProxies.Server::authorization)
        .ifPresent(value -> request.header("Proxy-Authorization", value));
    try {
      HttpResponse<Body> response = exchange(request, client(host, ask.uri()), ask.payload());
      if (proxy.isPresent() && response.statusCode() == PROXY_DENIES) {
        discard(response.body());
        throw new RegistryException(
            RegistryException.Problem.DENIED,
            "proxy %s does not accept our user and password: check the proxy's address"
                .formatted(proxy.get()));
      }
      return new RegistryResponse(
          ask.uri(), response.statusCode(), response.headers(), response.body());
    } catch (IOException e) {
      throw translate(e, ask.uri(), proxy);
    }
  }

  /** The refusal of a tunnel has none. */
  private static void discard(@Nullable Body body) {
    if (body != null) {
      body.close();
    }
  }

  /** An upload may take as long as it gets further. */
  private HttpResponse<Body> exchange(
      HttpRequest.Builder request, HttpClient client, Payload payload)
      throws IOException, InterruptedException {
    if (payload.small()) {
      return client.send(
          request.timeout(timeouts.answer()).build(), _ -> new Body(timeouts.stall()));
    }
    CompletableFuture<HttpResponse<Body>> answer =
        client.sendAsync(request.build(), _ -> new Body(timeouts.stall()));
    long before = -1;
    try {
      while (true) {
        try {
          return answer.get(timeouts.answer().toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException _) {
          long sent = payload.sent();
          if (sent == before) {
            throw new HttpTimeoutException("nothing moves");
          }
          before = sent;
        } catch (ExecutionException e) {
          throw e.getCause() instanceof IOException known ? known : new IOException(e.getCause());
        }
      }
    } finally {
      answer.cancel(true); // nothing when it is there
    }
  }

  private static RegistryException translate(
      IOException e, URI uri, Optional<ForwardProxies.Server> proxy) throws InterruptedException {
    if (e instanceof RegistryException known) {
      return known;
    }
    if (Thread.interrupted()) {
      throw new InterruptedException("interrupted while asking " + uri.getAuthority());
    }
    String where =
        uri.getScheme()
            + "://"
            + uri.getAuthority()
            + proxy.map(server -> " through proxy " + server).orElse("");
    if (has(e, UnresolvedAddressException.class) || has(e, UnknownHostException.class)) {
      return unreachable("host %s is not known".formatted(uri.getHost()), e);
    }
    if (e instanceof HttpConnectTimeoutException) {
      return unreachable("%s does not accept connections in time".formatted(where), e);
    }
    if (e instanceof ConnectException) {
      return unreachable("cannot connect to %s: %s".formatted(where, reason(e)), e);
    }
    if (has(e, SSLException.class)) {
      String hint =
          reason(e).toLowerCase(Locale.ROOT).contains("unrecognized ssl message")
              ? "it does not speak https; set plainHttp for it if that is intended"
              : reason(e);
      return new RegistryException(
          RegistryException.Problem.TLS,
          "no secure connection to %s: %s".formatted(where, hint),
          e);
    }
    if (e instanceof HttpTimeoutException) {
      return new RegistryException(
          RegistryException.Problem.BROKEN, "%s does not answer in time".formatted(where), e);
    }
    return new RegistryException(
        RegistryException.Problem.BROKEN,
        "the connection to %s broke: %s".formatted(where, reason(e)),
        e);
  }

  private static RegistryException unreachable(String reason, IOException cause) {
    return new RegistryException(RegistryException.Problem.UNREACHABLE, reason, cause);
  }

  private static RegistryException unsound(URI uri, String reason) {
    return new RegistryException(RegistryException.Problem.UNSOUND, uri + " redirects " + reason);
  }

  private static boolean has(Throwable thrown, Class<? extends Throwable> type) {
    for (@Nullable Throwable cause = thrown; cause != null; cause = cause.getCause()) {
      if (type.isInstance(cause)) {
        return true;
      }
    }
    return false;
  }

  /** The deepest message there is: the JDK's outer ones are often empty. */
  static String reason(Throwable thrown) {
    String text = thrown.getClass().getSimpleName();
    for (@Nullable Throwable cause = thrown; cause != null; cause = cause.getCause()) {
      if (cause.getMessage() != null && !cause.getMessage().isBlank()) {
        text = cause.getMessage();
      } else if (cause instanceof ConnectException) {
        return "connection refused"; // what is below only says that the channel was closed then
      } else if (cause instanceof ClosedChannelException) {
        text = "closed by the other side";
      }
    }
    return text;
  }

  private HttpClient client(String host, URI target) {
    HostConfig settings = config.of(host);
    boolean ownMachine = Hosts.loopback(host) && Hosts.loopback(target.getRawAuthority());
    return clients.computeIfAbsent(
        new Trust(settings.caFile(), ownMachine && settings.uncertain()), this::newClient);
  }

  private HttpClient newClient(Trust trust) {
    HttpClient.Builder builder =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(timeouts.connect())
            .proxy(new Selector(proxies));
    trust.caFile().ifPresent(file -> builder.sslContext(CaFile.context(file)));
    if (trust.anyone()) {
      builder.sslContext(LoopbackTls.unchecked());
    }
    try {
      return builder.build();
    } catch (java.io.UncheckedIOException e) {
      throw new AgentException.Internal("cannot make an HTTP client: " + e.getMessage(), e);
    }
  }

  /** Never the JVM's own idea of proxies. */
  private static final class Selector extends ProxySelector {
    private final ForwardProxies proxies;

    Selector(ForwardProxies proxies) {
      this.proxies = proxies;
    }

    @Override
    public List<Proxy> select(URI uri) {
      return proxies
          .of(uri)
          .map(server -> new InetSocketAddress(server.host(), server.port()))
          .map(address -> List.of(new Proxy(Proxy.Type.HTTP, address)))
          .orElse(List.of(Proxy.NO_PROXY));
    }

    @Override
    public void connectFailed(URI uri, SocketAddress address, IOException failure) {
      // whoever sent the request gets the failure
    }
  }

  @Override
  public void close() {
    clients.values().forEach(HttpClient::shutdownNow);
  }
}
