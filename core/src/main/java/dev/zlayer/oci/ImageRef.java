package dev.zlayer.oci;

import dev.zlayer.error.AgentException;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A reference to an image: {@code [host[:port]/]path[:tag][@digest]}.
 *
 * <p>Two references are equal when they name the same thing, so the parts are kept in canonical
 * form: {@code nginx} is {@code docker.io/library/nginx:latest}. A reference with a digest keeps
 * its tag for people, but {@link #canonical} leaves it out, because the digest alone decides.
 */
public record ImageRef(String host, String path, Optional<String> tag, Optional<Digest> digest) {
  public static final String DEFAULT_HOST = "docker.io";
  public static final String DEFAULT_TAG = "latest";

  private static final String DEFAULT_NAMESPACE = "library/";
  private static final int MAX_NAME = 255;

  /** A name with a tag and a digest. */
  private static final int MAX_TEXT = 640;

  private static final String ALNUM = "[a-z0-9]+";
  private static final String COMPONENT = ALNUM + "(?:(?:\\.|_|__|-+)" + ALNUM + ")*";
  private static final Pattern PATH = Pattern.compile(COMPONENT + "(?:/" + COMPONENT + ")*");
  private static final String LABEL = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
  private static final Pattern HOST =
      Pattern.compile("(?:" + LABEL + "(?:\\." + LABEL + ")*|\\[[0-9a-fA-F:]+])(?::[0-9]{1,5})?");
  private static final Pattern TAG = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}");

  public ImageRef {
    requireShort(host.length() + 1 + path.length(), path, MAX_NAME); // before what recurses over it
    require(HOST.matcher(host).matches(), host, "the registry host is malformed");
    require(PATH.matcher(path).matches(), path, hintForPath(path));
    tag.ifPresent(t -> require(TAG.matcher(t).matches(), t, "the tag is malformed"));
    require(tag.isPresent() || digest.isPresent(), path, "a reference needs a tag or a digest");
  }

  /**
   * Parses what a person typed; throws {@link AgentException.InvalidSpec} that says what is off.
   */
  public static ImageRef parse(String text) {
    requireShort(text.length(), text, MAX_TEXT);
    require(!text.isBlank(), text, "it is empty");
    require(text.equals(text.strip()), text, "remove the white space around it");
    String rest = text;
    Optional<Digest> digest = Optional.empty();
    int at = rest.indexOf('@');
    if (at >= 0) {
      digest = Optional.of(Digest.parse(rest.substring(at + 1)));
      rest = rest.substring(0, at);
    }
    String host = DEFAULT_HOST;
    int slash = rest.indexOf('/');
    if (slash > 0 && isHost(rest.substring(0, slash))) {
      // hosts have no case; what is one by its capitals alone would be read as a path next time
      host = rest.substring(0, slash).toLowerCase(java.util.Locale.ROOT);
      require(
          isHost(host), text, "a registry host has a dot or a port; image names are lower case");
      rest = rest.substring(slash + 1);
    }
    Optional<String> tag = Optional.empty();
    int colon = rest.lastIndexOf(':');
    if (colon > rest.lastIndexOf('/')) {
      tag = Optional.of(rest.substring(colon + 1));
      rest = rest.substring(0, colon);
    }
    if (tag.isEmpty() && digest.isEmpty()) {
      tag = Optional.of(DEFAULT_TAG);
    }
    if (host.equals("index.docker.io")) {
      host = DEFAULT_HOST;
    }
    require(PATH.matcher(rest).matches(), text, hintForPath(rest));
    if (host.equals(DEFAULT_HOST) && rest.indexOf('/') < 0) {
      rest = DEFAULT_NAMESPACE + rest;
    }
    return new ImageRef(host, rest, tag, digest);
  }

  /** The first component is a host when it cannot be part of a path. */
  private static boolean isHost(String component) {
    return component.contains(".")
        || component.contains(":")
        || component.equals("localhost")
        || !component.equals(component.toLowerCase(java.util.Locale.ROOT));
  }

  /** The full form that identifies the image: the key of every index and cache. */
  public String canonical() {
    return digest.map(d -> name() + "@" + d).orElseGet(() -> name() + ":" + tag.orElseThrow());
  }

  /** Host and path, without tag and digest. */
  public String name() {
    return host + "/" + path;
  }

  /** What a registry calls it: the digest when there is one, else the tag. */
  public String selector() {
    return digest.map(Digest::toString).orElseGet(tag::orElseThrow);
  }

  public ImageRef withDigest(Digest digest) {
    return new ImageRef(host, path, tag, Optional.of(digest));
  }

  /** As short as it can be and still parse to the same reference. */
  public String familiar() {
    String shortPath =
        path.startsWith(DEFAULT_NAMESPACE) ? path.substring(DEFAULT_NAMESPACE.length()) : path;
    String name = host.equals(DEFAULT_HOST) ? shortPath : name();
    return name + tag.map(t -> ":" + t).orElse("") + digest.map(d -> "@" + d).orElse("");
  }

  @Override
  public String toString() {
    return familiar();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ImageRef that && canonical().equals(that.canonical());
  }

  @Override
  public int hashCode() {
    return canonical().hashCode();
  }

  private static String hintForPath(String path) {
    return path.equals(path.toLowerCase(java.util.Locale.ROOT))
        ? "write [host[:port]/]name[:tag][@sha256:...]"
        : "image names are lower case";
  }

  private static void requireShort(int length, String text, int max) {
    if (length > max) {
      require(
          false,
          text.length() > MAX_NAME ? text.substring(0, 40) + "..." : text,
          "the name is over " + MAX_NAME + " characters");
    }
  }

  private static void require(boolean right, String text, String hint) {
    if (!right) {
      throw new AgentException.InvalidSpec("'" + text + "' is not an image reference: " + hint);
    }
  }
}
