package dev.zlayer.daemon.http;

import java.security.cert.X509Certificate;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.eclipse.jetty.server.Request;

/**
 * Who may do what, by the listener they use and the token they show. Pages of browsers may do
 * nothing but on the listener of the dashboard: no request with an {@code Origin} is served, so
 * that no site a person visits can use their access. On TCP the {@code Host} has to be one of ours,
 * so that a foreign name that resolves to this address gets nothing.
 */
final class AccessControl {
  private static final String BEARER = "Bearer ";

  /** Before the id of a node, where callers have names. */
  static final String NODE = "node ";

  /**
   * One listener.
   *
   * @param token what a caller has to show, unless it shows a scoped one
   * @param tokens whether scoped tokens count here
   * @param hosts names under which this listener may be called; empty for any
   * @param browsers what browsers have to show here, the only callers then; no others may come in
   * @param nodes of the cluster, who alone may come in then, by their certificates
   */
  record Rules(
      String name,
      boolean readOnly,
      Optional<String> token,
      boolean tokens,
      Set<String> hosts,
      Optional<BrowserAccess> browsers,
      Optional<ClusterListener.Members> nodes) {
    Rules {
      hosts = Set.copyOf(hosts);
    }

    /** A listener that no browser may use. */
    Rules(
        String name, boolean readOnly, Optional<String> token, boolean tokens, Set<String> hosts) {
      this(name, readOnly, token, tokens, hosts, Optional.empty(), Optional.empty());
    }

    Rules(
        String name,
        boolean readOnly,
        Optional<String> token,
        boolean tokens,
        Set<String> hosts,
        Optional<BrowserAccess> browsers) {
      this(name, readOnly, token, tokens, hosts, browsers, Optional.empty());
    }
  }

  private final Map<String, Rules> listeners = new ConcurrentHashMap<>();
  private final Tokens tokens;
  private final Function<Route, DeploymentScope> scopes;
  private final TokenConnections connections = new TokenConnections();

  /** Rules by the name of the connector. */
  AccessControl(
      Map<String, Rules> listeners, Tokens tokens, Function<Route, DeploymentScope> scopes) {
    this.listeners.putAll(listeners);
    this.tokens = tokens;
    this.scopes = scopes;
    tokens.onRemoved(connections::close);
  }

  /** A listener that is opened later. */
  void add(String connector, Rules rules, BrowserSessions sessions) {
    sessions.onRevoked(connections::close);
    listeners.put(connector, rules);
  }

  /** One that no browser uses. */
  void add(String connector, Rules rules) {
    rules.nodes().ifPresent(nodes -> nodes.onRemoved(id -> connections.close(connection(id))));
    listeners.put(connector, rules);
  }

  /** Who sends this; throws {@link AccessDenied} for one who may send nothing. */
  Caller admit(Request request) {
    Rules rules = rules(request);
    if (rules.browsers().isEmpty() && request.getHeaders().get("Origin") != null) {
      throw AccessDenied.forbidden("requests from browsers are rejected");
    }
    if (!rules.hosts().isEmpty() && !rules.hosts().contains(host(request))) {
      throw AccessDenied.forbidden(
          "'%s' is not a name of this agent: add it to 'hosts' in its configuration"
              .formatted(host(request)));
    }
    if (rules.browsers().isPresent()) {
      return rules.browsers().get().admit(request, rules.name(), connections);
    }
    if (rules.nodes().isPresent()) {
      return node(request, rules, rules.nodes().get());
    }
    return rules.tokens() ? remote(request, rules) : local(request, rules);
  }

  /**
   * One without a certificate, or whose certificate counts no longer, may only use what is open to
   * everybody: it may want to join.
   */
  private Caller node(Request request, Rules rules, ClusterListener.Members nodes) {
    Optional<X509Certificate> shown = PeerNames.own(request);
    Optional<String> named = shown.flatMap(nodes::node);
    if (named.isEmpty()) {
      return outsider(rules, "unknown", 401, "a certificate of the cluster is required");
    }
    String node = named.get();
    connections.add(connection(node), request);
    // after it was remembered
    Optional<ClusterListener.Refusal> refusal = nodes.refusal(node, shown.get());
    if (refusal.isPresent()) {
      return outsider(
          rules, NODE + node, refusal.get().removed() ? 403 : 401, refusal.get().reason());
    }
    Optional<Caller.Access> limited =
        Optional.ofNullable(request.getHeaders().get(ClusterListener.DEPLOYMENT))
            .map(Caller.Access.Deployment::new);
    return new Caller(
        rules.name(), NODE + node, limited.orElseGet(Caller.Access.Full::new), Optional.empty());
  }

  private static Caller outsider(Rules rules, String who, int status, String reason) {
    return new Caller(
        rules.name(), who, new Caller.Access.Anonymous(status, reason), Optional.empty());
  }

  /** Under which connections of a node are remembered; tokens have other names. */
  private static String connection(String node) {
    return "node/" + node;
  }

  private static Caller local(Request request, Rules rules) {
    return new Caller(
        rules.name(),
        PeerNames.user(request),
        rules.readOnly() ? new Caller.Access.ReadOnly() : new Caller.Access.Full(),
        Optional.empty());
  }

  private Caller remote(Request request, Rules rules) {
    Optional<String> certificate = PeerNames.certificate(request);
    String shown = request.getHeaders().get("Authorization");
    if (shown == null) {
      if (rules.token().isPresent() || certificate.isEmpty()) {
        throw AccessDenied.unauthorized();
      }
      return new Caller(
          rules.name(), certificate.get(), new Caller.Access.Full(), Optional.empty());
    }
    if (rules.token().isPresent() && RandomSecret.equal(shown, BEARER + rules.token().get())) {
      return new Caller(
          rules.name(),
          certificate.map(subject -> "token_file, " + subject).orElse("token_file"),
          new Caller.Access.Full(),
          Optional.empty());
    }
    Tokens.Token token =
        Optional.of(shown)
            .filter(text -> text.startsWith(BEARER))
            .flatMap(text -> tokens.find(text.substring(BEARER.length())))
            .orElseThrow(AccessDenied::unauthorized);
    connections.add(token, request);
    if (tokens.find(shown.substring(BEARER.length())).isEmpty()) {
      connections.close(token.id()); // removed while the connection was being remembered
      throw AccessDenied.unauthorized();
    }
    String who = "token " + token.name();
    return new Caller(
        rules.name(),
        certificate.map(subject -> who + ", " + subject).orElse(who),
        token.access(),
        Optional.of(token.id()));
  }

  /** Whether the caller may use the route for what its path names. */
  void admit(Caller caller, Router.Match match) {
    switch (caller.access()) {
      case Caller.Access.Full() -> {}
      case Caller.Access.Anonymous(int status, String reason) ->
          throw AccessDenied.withoutSession(status, reason);
      case Caller.Access.ReadOnly() -> {
        if (!match.route().viewable()) {
          throw AccessDenied.forbidden(
              caller.token().isEmpty()
                  ? "the read-only socket does not offer this"
                  : "the %s is read-only"
                      .formatted(
                          caller.listener().equals(DashboardListener.NAME) ? "session" : "token"));
        }
      }
      case Caller.Access.Deployment(String name) -> {
        DeploymentScope scope = scopes.apply(match.route());
        boolean allowed =
            scope != DeploymentScope.DENIED
                && (scope != DeploymentScope.PATH || name.equals(named(match)));
        if (!allowed) {
          throw AccessDenied.forbidden("the token is for deployment '%s' only".formatted(name));
        }
      }
    }
  }

  private static String named(Router.Match match) {
    String deployment = match.variables().get("deployment");
    return Objects.requireNonNullElseGet(
        deployment, () -> match.variables().getOrDefault("name", ""));
  }

  /** The name of the listener that a request came to. */
  String listener(Request request) {
    return rules(request).name();
  }

  private Rules rules(Request request) {
    Rules rules = listeners.get(request.getConnectionMetaData().getConnector().getName());
    if (rules == null) {
      throw AccessDenied.forbidden("this listener has no access rules");
    }
    return rules;
  }

  private static String host(Request request) {
    String host = Request.getServerName(request);
    return host == null ? "" : host.toLowerCase(Locale.ROOT);
  }
}
