package dev.zlayer.cli.client;

import dev.zlayer.error.AgentException;
import java.util.Arrays;
import java.util.List;

/**
 * What a person names on the command line: {@code deployment/service}, one replica of it ({@code
 * deployment/service[/role]/replica[@generation]}), or a container by name or beginning of its id.
 */
public record Target(String text, List<String> parts) {
  private static final String BLANKS = " \t\n\u000b\f\r";
  private static final int MOST_PARTS = 4;

  public static Target parse(String text) {
    List<String> parts = Arrays.asList(text.split("/", -1));
    boolean known = parts.size() <= MOST_PARTS;
    for (String part : parts) {
      known = known && plain(part);
    }
    if (!known) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a container reference; write deployment/service, deployment/service/replica, a name or an id"
              .formatted(text));
    }
    return new Target(text, parts);
  }

  /** Something without blanks and colons; read without a pattern, which takes longer to make. */
  private static boolean plain(String part) {
    for (int i = 0; i < part.length(); i++) {
      if (BLANKS.indexOf(part.charAt(i)) >= 0 || part.charAt(i) == ':') {
        return false;
      }
    }
    return !part.isEmpty();
  }

  /** Whether all replicas of a service are meant. */
  public boolean service() {
    return parts.size() == 2;
  }

  /** Where the daemon finds it. */
  public String path() {
    return "/containers/" + Query.segment(String.join(":", parts));
  }

  /** Where the daemon finds the service, for one that is meant as a whole. */
  public String servicePath() {
    return "/deployments/"
        + Query.segment(parts.get(0))
        + "/services/"
        + Query.segment(parts.get(1));
  }

  @Override
  public String toString() {
    return text;
  }
}
