package dev.zlayer.proxy.ingress;

import dev.zlayer.error.AgentException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Who may use endpoints with {@code basic_auth}: a map from hashes of an endpoint and credentials
 * to user names, changed through HAProxy's sockets. Pure.
 *
 * @param secrets the text of a secret by deployment and name
 */
record IngressUsers(BiFunction<String, String, Optional<String>> secrets) {
  static final String MAP = "users.map";
  private static final int MOST = 1_000;

  /** A name goes into a header; a password is whatever is behind the first colon. */
  private static final Pattern LINE = Pattern.compile("([A-Za-z0-9._@+-]{1,64}):(.{1,200})");

  /** What a crypt hash looks like, which would cost HAProxy milliseconds for each request. */
  private static final Pattern HASH =
      Pattern.compile("[$](apr1|1|2[abxy]?|5|6|y|7)[$].*|[{]SHA[}].*");

  /** The entries of all endpoints; one whose secret cannot be used has none. */
  Map<String, String> entries(Collection<IngressEndpoint> endpoints) {
    var entries = new TreeMap<String, String>();
    for (IngressEndpoint endpoint : endpoints) {
      if (problem(endpoint).isEmpty()) {
        secret(endpoint).ifPresent(text -> add(endpoint, text, entries));
      }
    }
    return entries;
  }

  private static void add(IngressEndpoint endpoint, String text, Map<String, String> entries) {
    for (String line : lines(text)) {
      Matcher matcher = LINE.matcher(line);
      if (matcher.matches()) {
        entries.put(hash(endpoint.backend() + "/" + line), matcher.group(1));
      }
    }
  }

  /** Why nobody can use an endpoint. */
  Optional<String> problem(IngressEndpoint endpoint) {
    Optional<String> name = endpoint.route().policy().basicAuth();
    if (name.isEmpty()) {
      return Optional.empty();
    }
    Optional<String> text = secret(endpoint);
    String reason =
        text.isEmpty() ? "does not exist, so nobody is let through" : reason(lines(text.get()));
    return reason.isEmpty()
        ? Optional.empty()
        : Optional.of("basic_auth: secret '%s' %s".formatted(name.get(), reason));
  }

  /** Lines of a secret are never part of it. */
  private static String reason(Collection<String> lines) {
    if (lines.isEmpty() || lines.size() > MOST) {
      return "has no line user:password, or more than 1,000";
    }
    int number = 0;
    for (String line : lines) {
      number++;
      Matcher matcher = LINE.matcher(line);
      if (!matcher.matches()) {
        return "entry %d is not user:password".formatted(number);
      }
      if (HASH.matcher(matcher.group(2)).matches()) {
        return "entry %d has a hash; write the password itself, the secret is sealed"
            .formatted(number);
      }
    }
    return "";
  }

  private Optional<String> secret(IngressEndpoint endpoint) {
    return endpoint
        .route()
        .policy()
        .basicAuth()
        .flatMap(name -> secrets.apply(endpoint.service().deployment(), name));
  }

  private static Collection<String> lines(String text) {
    return text.lines().filter(line -> !line.isBlank() && !line.startsWith("#")).toList();
  }

  private static String hash(String text) {
    try {
      return HexFormat.of()
          .formatHex(
              MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new AgentException.Internal("this JDK has no SHA-256", e);
    }
  }
}
