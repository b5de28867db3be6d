package dev.zlayer.cli.command.container;

import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.spec.problem.Nearest;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The daemon's list of containers, and which of them a person means. */
final class Containers {
  private Containers() {}

  static List<Json> all(DaemonClient client) throws InterruptedException {
    return list(client.get("/containers", Query.of("all", true)));
  }

  static List<Json> list(Json answer) {
    return answer instanceof Json.Arr ? answer.items() : answer.at("containers").items();
  }

  /** What people call it: {@code deployment/service/replica}, or the name it was given. */
  static String name(Json container) {
    return container.at("name").string().or(() -> container.at("id").string()).orElse("?");
  }

  /** The daemon's own id of it. */
  static String id(Json container) {
    return container.at("id").string().orElseGet(() -> name(container));
  }

  /** Those that the words name, in the order of the list; a word that names none is an error. */
  static List<Json> named(List<Json> all, List<String> words) {
    Set<Json> found = new LinkedHashSet<>();
    for (String word : words) {
      Target target = Target.parse(word);
      List<Json> matches = all.stream().filter(container -> matches(container, target)).toList();
      if (matches.isEmpty()) {
        throw new AgentException.NotFound("'" + word + "'", advice(all, word));
      }
      found.addAll(matches);
    }
    return new ArrayList<>(found);
  }

  static boolean matches(Json container, Target target) {
    String word = target.text();
    if (target.parts().size() == 1) {
      return container.at("deployment").string().filter(word::equals).isPresent()
          || name(container).equals(word)
          || id(container).startsWith(word);
    }
    String whole =
        container.at("deployment").string().orElse("")
            + "/"
            + container.at("service").string().orElse("");
    return whole.equals(word)
        || name(container).equals(word)
        || name(container).replaceFirst("@\\d+$", "").equals(word)
        || container.at("target").string().filter(word::equals).isPresent();
  }

  private static String advice(List<Json> all, String word) {
    Set<String> known = new LinkedHashSet<>();
    for (Json container : all) {
      container.at("deployment").string().ifPresent(known::add);
      container
          .at("deployment")
          .string()
          .ifPresent(name -> known.add(name + "/" + container.at("service").string().orElse("")));
      known.add(name(container));
    }
    return Nearest.to(word, known)
        .map(near -> "did you mean '" + near + "'?")
        .orElse("'zlayer ps --all' lists all containers");
  }
}
