package dev.zlayer.image.registry;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * One place that may have a repository.
 *
 * @param host the name under which it is configured and has credentials
 * @param origin where requests go: scheme and authority only
 * @param repository the repository's path there
 * @param query what a mirror of several registries needs to know; empty for a registry itself
 */
record RegistryEndpoint(String host, URI origin, String repository, String query, boolean mirror) {
  private static final String HUB = "registry-1.docker.io";

  /** The places for an image, in the order in which they are asked. */
  static List<RegistryEndpoint> of(ImageRef image, RegistriesConfig config) {
    var result = new ArrayList<RegistryEndpoint>();
    HostConfig own = config.of(image.host());
    for (String text : own.mirrors()) {
      Mirror mirror = mirror(text);
      String scheme =
          mirror.scheme().isEmpty() ? scheme(mirror.authority(), config) : mirror.scheme();
      String path = mirror.prefix().isEmpty() ? image.path() : mirror.prefix() + "/" + image.path();
      URI origin = URI.create(scheme + "://" + mirror.authority());
      result.add(
          new RegistryEndpoint(mirror.authority(), origin, path, "?ns=" + image.host(), true));
    }
    if (!own.offline()) {
      result.add(itself(image, config));
    }
    return result;
  }

  static RegistryEndpoint itself(ImageRef image, RegistriesConfig config) {
    return new RegistryEndpoint(
        image.host(), origin(image.host(), config), image.path(), "", false);
  }

  /** A registry as such, without a repository. */
  static RegistryEndpoint of(String host, RegistriesConfig config) {
    return new RegistryEndpoint(host, origin(host, config), "", "", false);
  }

  private static URI origin(String host, RegistriesConfig config) {
    String authority = host.equals(ImageRef.DEFAULT_HOST) ? HUB : host;
    return URI.create(scheme(host, config) + "://" + authority);
  }

  private static String scheme(String authority, RegistriesConfig config) {
    boolean plain = config.of(authority).plainHttp().orElseGet(() -> Hosts.loopback(authority));
    return plain ? "http" : "https";
  }

  record Mirror(String scheme, String authority, String prefix) {}

  /** Parses what an operator wrote; throws {@link AgentException.InvalidSpec}. */
  static Mirror mirror(String text) {
    String scheme = "";
    String rest = text;
    int colons = text.indexOf("://");
    if (colons >= 0) {
      scheme = text.substring(0, colons).toLowerCase(Locale.ROOT);
      rest = text.substring(colons + 3);
    }
    while (rest.endsWith("/")) {
      rest = rest.substring(0, rest.length() - 1);
    }
    int slash = rest.indexOf('/');
    String authority = slash < 0 ? rest : rest.substring(0, slash);
    String prefix = slash < 0 ? "" : rest.substring(slash + 1);
    boolean right =
        List.of("", "http", "https").contains(scheme)
            && authority.matches("[A-Za-z0-9.-]+(:[0-9]{1,5})?|\\[[0-9a-fA-F:]+](:[0-9]{1,5})?")
            && prefix.matches("[A-Za-z0-9._/-]*");
    if (!right) {
      throw new AgentException.InvalidSpec(
          "'" + text + "' is not a mirror: write [https://]host[:port][/prefix]");
    }
    return new Mirror(scheme, authority.toLowerCase(Locale.ROOT), prefix);
  }

  URI manifest(String selector) {
    return URI.create(origin + "/v2/" + repository + "/manifests/" + selector + query);
  }

  URI blob(String digest) {
    return URI.create(origin + "/v2/" + repository + "/blobs/" + digest + query);
  }

  /** Answers whoever may use the registry. */
  URI base() {
    return URI.create(origin + "/v2/");
  }

  URI uploads(String parameters) {
    return URI.create(origin + "/v2/" + repository + "/blobs/uploads/" + parameters);
  }

  boolean plain() {
    return Hosts.plain(origin);
  }

  /** The same place with TLS. */
  RegistryEndpoint secured() {
    URI secure = URI.create("https://" + origin.getRawAuthority());
    return new RegistryEndpoint(host, secure, repository, query, mirror);
  }

  /** For people. */
  String name() {
    return mirror ? "mirror " + host : "registry " + host;
  }
}
