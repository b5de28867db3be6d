package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.error.AgentException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** {@code NAME=VALUE}, or a name alone for the variable that is set here. */
public final class Variables {
  private Variables() {}

  public static Map<String, String> parse(Session session, List<String> pairs) {
    var variables = new LinkedHashMap<String, String>();
    for (String pair : pairs) {
      int equals = pair.indexOf('=');
      if (equals == 0 || pair.isEmpty()) {
        throw new AgentException.InvalidSpec("'" + pair + "' is not NAME=VALUE");
      }
      if (equals > 0) {
        variables.put(pair.substring(0, equals), pair.substring(equals + 1));
      } else {
        session.variable(pair).ifPresent(value -> variables.put(pair, value));
      }
    }
    return variables;
  }
}
