package dev.zlayer.image.registry;

import dev.zlayer.port.RegistryAuth;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Sends requests as whoever we are at an endpoint. Credentials are shown only when the endpoint
 * itself asks for them, and what was granted is remembered per endpoint and repository, so that the
 * next request is one round trip.
 */
final class Authorizer {
  private static final int MAX_GRANTS = 256;
  private static final Duration BASIC_LIFE = Duration.ofHours(1);

  private record Key(URI origin, String repository, Scope scope, Optional<RegistryAuth> auth) {}

  private final RegistryTransport transport;
  private final TokenService tokens;
  private final Credentials credentials;
  private final InstantSource clock;
  private final Map<Key, BearerToken> grants =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Key, BearerToken> eldest) {
          return size() > MAX_GRANTS;
        }
      };

  Authorizer(RegistryTransport transport, Credentials credentials, InstantSource clock) {
    this.transport = transport;
    this.tokens = new TokenService(transport, clock);
    this.credentials = credentials;
    this.clock = clock;
  }

  Instant now() {
    return clock.instant();
  }

  /**
   * The answer, which is never a refusal of who we are; the caller closes it.
   *
   * @param explicit instead of the configured credentials; only ever for a registry itself, never
   *     for its mirrors
   */
  RegistryResponse send(
      RegistryEndpoint endpoint, Optional<RegistryAuth> explicit, RegistryTransport.Ask ask)
      throws IOException, InterruptedException {
    return send(endpoint, explicit, Scope.PULL, ask);
  }

  /** The same for more than pulling; without credentials when it goes to another origin. */
  RegistryResponse send(
      RegistryEndpoint endpoint,
      Optional<RegistryAuth> explicit,
      Scope scope,
      RegistryTransport.Ask ask)
      throws IOException, InterruptedException {
    if (!Hosts.sameOrigin(ask.uri(), endpoint.origin())) {
      return transport.send(ask, endpoint.host());
    }
    Optional<RegistryAuth> own = endpoint.mirror() ? Optional.empty() : explicit;
    var key = new Key(endpoint.origin(), endpoint.repository(), scope, own);
    RegistryResponse first =
        transport.send(ask.withAuthorization(remembered(key)), endpoint.host());
    if (!first.challenged()) {
      return first;
    }
    Optional<RegistryAuth> auth;
    try (first) {
      if (!Hosts.sameOrigin(first.uri(), endpoint.origin())) {
        throw denied(
            "%s redirects to %s, which wants credentials of its own"
                .formatted(endpoint.name(), first.uri().getAuthority()));
      }
      auth = own.isPresent() ? own : credentials.find(endpoint.host());
      BearerToken grant = grant(endpoint, first, scope, auth);
      first.body().drain();
      remember(key, grant);
    }
    RegistryResponse second =
        transport.send(ask.withAuthorization(remembered(key)), endpoint.host());
    if (second.challenged()) {
      second.close();
      forget(key);
      throw denied(denial(endpoint, auth));
    }
    return second;
  }

  private BearerToken grant(
      RegistryEndpoint endpoint, RegistryResponse answer, Scope scope, Optional<RegistryAuth> auth)
      throws IOException, InterruptedException {
    Challenge challenge =
        Challenge.best(answer.headers().allValues("WWW-Authenticate"))
            .orElseThrow(
                () ->
                    denied(endpoint.name() + " wants credentials in a way that is not supported"));
    if (challenge.scheme().equals("bearer")) {
      return tokens.token(endpoint, challenge, scope, auth);
    }
    if (auth.orElse(null) instanceof RegistryAuth.Basic basic) {
      return new BearerToken(TokenService.basic(basic), clock.instant().plus(BASIC_LIFE));
    }
    throw denied(denial(endpoint, Optional.empty()));
  }

  /** Says which registry, and as whom we came. */
  static String denial(RegistryEndpoint endpoint, Optional<RegistryAuth> auth) {
    if (endpoint.repository().isEmpty()) {
      return "%s does not accept these credentials: wrong user name or password"
          .formatted(endpoint.name());
    }
    return switch (auth.orElse(null)) {
      case null ->
          "%s wants credentials for %s and none are configured: log in, or the image does not exist"
              .formatted(endpoint.name(), endpoint.repository());
      case RegistryAuth.Basic(var user, _) ->
          "%s does not accept user '%s' for %s: wrong name or password, or no such image"
              .formatted(endpoint.name(), user, endpoint.repository());
      case RegistryAuth.Token _ ->
          "%s does not accept the identity token for %s: log in again"
              .formatted(endpoint.name(), endpoint.repository());
    };
  }

  private static RegistryException denied(String reason) {
    return new RegistryException(RegistryException.Problem.DENIED, reason);
  }

  private Optional<String> remembered(Key key) {
    synchronized (grants) {
      return Optional.ofNullable(grants.get(key))
          .filter(grant -> clock.instant().isBefore(grant.expires()))
          .map(BearerToken::header);
    }
  }

  private void remember(Key key, BearerToken grant) {
    synchronized (grants) {
      grants.put(key, grant);
    }
  }

  private void forget(Key key) {
    synchronized (grants) {
      grants.remove(key);
    }
  }
}
