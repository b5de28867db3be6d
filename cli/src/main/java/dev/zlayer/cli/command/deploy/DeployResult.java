package dev.zlayer.cli.command.deploy;

import dev.zlayer.cli.Session;
import dev.zlayer.error.Blame;
import dev.zlayer.json.Json;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** How a change of a deployment ended, in words and as an exit code. */
final class DeployResult {
  private DeployResult() {}

  static int report(Session session, String name, Json result, boolean quiet) {
    String outcome = result.at("outcome").string().orElse("failed");
    if (result.at("status").at("state").string().filter("removing"::equals).isPresent()) {
      session
          .err()
          .printf(
              "zlayer: deployment '%s' is not removed yet%s%n"
                  + "the removal continues; 'zlayer status %s' shows its progress%n",
              name, because(result), name);
      return Blame.OUTSIDE.exitCode();
    }
    return switch (outcome) {
      case "stable" -> {
        if (!quiet) {
          session.err().println("deployment '" + name + "' is ready");
        }
        yield 0;
      }
      case "removed" -> {
        if (!quiet) {
          session.err().println("deployment '" + name + "' is removed");
        }
        yield 0;
      }
      case "timeout" -> {
        session
            .err()
            .printf(
                "zlayer: deployment '%s' is not ready yet%s%n"
                    + "the deployment continues; 'zlayer status %s' shows its progress%n",
                name, because(result), name);
        yield Blame.OUTSIDE.exitCode();
      }
      default -> {
        session.err().printf("zlayer: deployment '%s' failed%s%n", name, because(result));
        rolledBack(result).forEach(session.err()::println);
        yield blame(result).exitCode();
      }
    };
  }

  private static Blame blame(Json result) {
    String word = result.at("failure").at("blame").string().orElse("workload");
    return Arrays.stream(Blame.values())
        .filter(blame -> blame.name().equals(word.toUpperCase(Locale.ROOT)))
        .findFirst()
        .orElse(Blame.WORKLOAD);
  }

  /** What serves instead of what failed. */
  private static List<String> rolledBack(Json result) {
    return result.at("status").at("services").items().stream()
        .filter(service -> !service.at("rollout").at("rolled_back_to").isNull())
        .map(
            service ->
                "%s was rolled back: revision %d serves, %d of %d ready"
                    .formatted(
                        service.at("name").string().orElse("?"),
                        service.at("rollout").at("rolled_back_to").integer().orElse(0L),
                        service.at("ready").integer().orElse(0L),
                        service.at("wanted").integer().orElse(0L)))
        .toList();
  }

  private static String because(Json result) {
    Json reason = result.at("reason");
    String text =
        reason
            .string()
            .or(() -> reason.at("message").string())
            .map(t -> ": " + result.at("service").string().map(s -> s + ": ").orElse("") + t)
            .orElse("");
    List<String> lines =
        result.at("last_lines").items().isEmpty()
            ? reason.at("last_lines").strings()
            : result.at("last_lines").strings();
    return lines.isEmpty() || text.contains(lines.getLast())
        ? text
        : text + "; last output:\n  " + String.join("\n  ", lines);
  }
}
