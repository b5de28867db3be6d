package dev.zlayer.cli.client;

import dev.zlayer.error.AgentException;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

/**
 * What a person names on the command line: {@code deployment/service}, one replica of it ({@code
 * deployment/service[/role]/replica[@generation]}), or a container by name or beginning of its id.
 */
public record Target(String text, List<String> parts) {
  private static final Pattern FORM = Pattern.compile("[^\\s/:]+(/[^\\s/:]+){0,3}");

  public static Target parse(String text) {
    if (!FORM.matcher(text).matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a container reference; write deployment/service, deployment/service/replica, a name or an id"
              .formatted(text));
    }
    return new Target(text, Arrays.asList(text.split("/", -1)));
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
