package dev.zlayer.image.registry;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.net.LocalTargets;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.RegistryAuth;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Exchanges credentials for a token that is good for one repository.
 *
 * <p>The registry names the service, so the service is only trusted as far as the registry is: it
 * is spoken to over https, or over plain http when the registry itself is spoken to that way on the
 * same host; and it gets the credentials of that registry alone. Whatever scope the registry
 * proposes, only what is about to be done is asked for.
 */
final class TokenService {
  private static final int MAX_ANSWER = 64 << 10;
  private static final int MAX_TOKEN = 16 << 10;
  private static final long SHORTEST_LIFE = 60;
  private static final long LONGEST_LIFE = 3600;
  private static final Pattern SCOPE =
      Pattern.compile("(repository:[^ :]+(?::[0-9]+/[^ :]+)?):[a-z,*]+");

  private final RegistryTransport transport;
  private final InstantSource clock;

  TokenService(RegistryTransport transport, InstantSource clock) {
    this.transport = transport;
    this.clock = clock;
  }

  BearerToken token(
      RegistryEndpoint endpoint, Challenge challenge, Scope scope, Optional<RegistryAuth> auth)
      throws IOException, InterruptedException {
    URI realm = realm(endpoint, challenge.parameters().getOrDefault("realm", ""));
    Map<String, String> query = new LinkedHashMap<>();
    Optional.ofNullable(challenge.parameters().get("service"))
        .ifPresent(service -> query.put("service", service));
    List<String> scopes = scope.words(repository(endpoint, challenge));
    RegistryTransport.Ask ask =
        switch (auth.orElse(null)) {
          case null -> get(realm, query, scopes);
          case RegistryAuth.Basic basic -> {
            query.put("account", basic.user());
            yield get(realm, query, scopes).withAuthorization(Optional.of(basic(basic)));
          }
          case RegistryAuth.Token(var identity) -> {
            query.put("grant_type", "refresh_token");
            query.put("refresh_token", identity);
            query.put("client_id", "zlayer");
            if (!scopes.isEmpty()) {
              query.put("scope", String.join(" ", scopes));
            }
            yield new RegistryTransport.Ask(
                "POST",
                realm,
                Map.of("Content-Type", "application/x-www-form-urlencoded"),
                Optional.empty(),
                Payload.of(encode(query)));
          }
        };
    try (RegistryResponse answer = transport.send(ask, endpoint.host())) {
      String who = "token service %s of %s".formatted(realm.getAuthority(), endpoint.name());
      if (answer.ok()) {
        return grant(answer.body().bytes(MAX_ANSWER), who);
      }
      RegistryException failure =
          answer.failure(who, "repository " + endpoint.repository(), clock.instant());
      throw failure.problem() == RegistryException.Problem.DENIED
          ? new RegistryException(
              RegistryException.Problem.DENIED, Authorizer.denial(endpoint, auth), failure)
          : failure;
    }
  }

  static String basic(RegistryAuth.Basic basic) {
    String pair = basic.user() + ":" + basic.password();
    return "Basic " + Base64.getEncoder().encodeToString(pair.getBytes(StandardCharsets.UTF_8));
  }

  private static URI realm(RegistryEndpoint endpoint, String text) throws RegistryException {
    URI realm;
    try {
      realm = URI.create(text);
    } catch (IllegalArgumentException _) {
      realm = URI.create("");
    }
    boolean https = "https".equalsIgnoreCase(realm.getScheme());
    boolean plain = Hosts.plain(realm) && endpoint.plain() && near(realm, endpoint.origin());
    if (realm.getHost() == null
        || realm.getRawUserInfo() != null
        || !(https || plain)
        || !LocalTargets.mayRefer(endpoint.origin().getHost(), realm.getHost())) {
      throw new RegistryException(
          RegistryException.Problem.UNSOUND,
          "%s names the token service '%s', which credentials cannot safely be sent to"
              .formatted(endpoint.name(), RegistryResponse.printable(text)));
    }
    return realm;
  }

  private static boolean near(URI realm, URI origin) {
    return Hosts.sameHost(realm, origin)
        || (Hosts.loopback(realm.getAuthority()) && Hosts.loopback(origin.getAuthority()));
  }

  private static String repository(RegistryEndpoint endpoint, Challenge challenge) {
    Matcher proposed = SCOPE.matcher(challenge.parameters().getOrDefault("scope", ""));
    return proposed.matches() ? proposed.group(1) : "repository:" + endpoint.repository();
  }

  private static RegistryTransport.Ask get(
      URI realm, Map<String, String> query, List<String> scopes) {
    String separator = realm.toString().contains("?") ? "&" : "?";
    var words = new ArrayList<String>();
    scopes.forEach(scope -> words.add(encode(Map.of("scope", scope))));
    words.add(encode(query));
    return RegistryTransport.Ask.of(
        "GET", URI.create(realm + separator + String.join("&", words)), Map.of());
  }

  private static String encode(Map<String, String> query) {
    return query.entrySet().stream()
        .map(e -> e.getKey() + "=" + URLEncoder.encode(e.getValue(), StandardCharsets.UTF_8))
        .collect(Collectors.joining("&"));
  }

  private BearerToken grant(byte[] bytes, String who) throws RegistryException {
    Json json = Json.Null.INSTANCE;
    if (bytes.length <= MAX_ANSWER) {
      try {
        json = JsonText.parse(bytes);
      } catch (AgentException.InvalidSpec _) {
        // no token then, which is told below
      }
    }
    String token =
        json.at("token")
            .string()
            .filter(text -> !text.isEmpty())
            .or(json.at("access_token")::string)
            .orElse("");
    if (token.length() > MAX_TOKEN || !token.matches("[\\x21-\\x7e]+")) {
      throw new RegistryException(
          RegistryException.Problem.UNSOUND, who + " did not answer with a usable token");
    }
    long life = json.at("expires_in").integer().orElse(SHORTEST_LIFE);
    life = Math.clamp(life, SHORTEST_LIFE, LONGEST_LIFE) * 9 / 10;
    return new BearerToken("Bearer " + token, clock.instant().plus(Duration.ofSeconds(life)));
  }
}
