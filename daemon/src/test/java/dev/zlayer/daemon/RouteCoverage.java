package dev.zlayer.daemon;

import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Which routes of a description the agent's own figures do not show as answered well. */
final class RouteCoverage {
  /** Needs a certificate authority: IngressTlsIT. */
  private static final Set<String> ELSEWHERE =
      Set.of("post /api/v1/ingress/certificates/{host}/revoke");

  private RouteCoverage() {}

  static List<String> missing(Json description, String figures) {
    var missing = new ArrayList<String>();
    description
        .at("paths")
        .members()
        .forEach(
            (path, verbs) ->
                verbs
                    .members()
                    .forEach(
                        (verb, route) -> {
                          if (!refuses(route) && !answered(figures, verb, path)) {
                            missing.add(verb + " " + path);
                          }
                        }));
    missing.removeAll(ELSEWHERE);
    return missing;
  }

  private static boolean refuses(Json route) {
    return route.at("summary").string().orElse("").startsWith("Refuse");
  }

  private static boolean answered(String figures, String verb, String path) {
    String method = "method=\"%s\"".formatted(verb.toUpperCase(Locale.ROOT));
    String route = "route=\"%s\"".formatted(path.replaceFirst("^/api/v1", ""));
    return path.endsWith("/metrics") // that is the one being asked
        || figures
            .lines()
            .filter(line -> line.contains(method) && line.contains(route))
            .anyMatch(line -> line.matches(".*status=\"(2\\d\\d|101)\".*"));
  }
}
