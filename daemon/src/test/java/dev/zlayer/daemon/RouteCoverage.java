package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/** Which routes of a description the agent's own figures do not show as answered well. */
final class RouteCoverage {
  /** Needs a certificate authority: IngressTlsIT. */
  private static final Set<String> ELSEWHERE =
      Set.of("post /api/v1/ingress/certificates/{host}/revoke");

  /** All of them are asked for by ClusterIT, through the command line. */
  private static final Pattern SEVERAL_MACHINES =
      Pattern.compile("[a-z]+ /api/v1/(cluster|nodes)(/.*)?");

  private RouteCoverage() {}

  /** What a node that is in none answers to each of the routes of a cluster. */
  static void refuseOutsideOfAnyCluster(Rest rest) throws InterruptedException {
    String why = rest.get("/cluster").expect(409).text();
    assertThat(why).contains("this node is in no cluster");
    rest.get("/cluster/backup").expect(409);
    rest.get("/cluster/certificate").expect(404);
    rest.post("/nodes/one/certificate").expect(409);
    rest.post("/cluster/restore").expect(409);
    rest.post("/cluster/leave", "{}").expect(409);
    rest.post("/cluster/tokens", "{}").expect(409);
    rest.get("/nodes/one").expect(409);
    rest.delete("/nodes/one").expect(409);
    rest.post("/nodes/one/scheduling", "{\"scheduling\":\"draining\"}").expect(409);
    rest.post("/nodes/one/labels", "{\"set\":{\"a\":\"b\"},\"remove\":[]}").expect(409);
    assertThat(rest.post("/cluster/init", "{\"advertise\":\"192.0.2.9\"}").expect(422).text())
        .contains("is not an address of this machine");
    assertThat(
            rest.post("/cluster/join", "{\"through\":\"192.0.2.9\",\"token\":\"x\"}")
                .expect(422)
                .text())
        .contains("not a join token");
  }

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
    missing.removeIf(route -> SEVERAL_MACHINES.matcher(route).matches());
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
