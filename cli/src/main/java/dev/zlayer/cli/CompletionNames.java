package dev.zlayer.cli;

import dev.zlayer.cli.client.ConnectionLost;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.cli.client.Query;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.Optional;
import java.util.stream.Stream;

/** Names that the daemon knows, by what a verb calls them in its help. */
final class CompletionNames {
  /** Nobody waits longer for a suggestion. */
  private static final Duration LIMIT = Duration.ofSeconds(2);

  private final Session session;

  CompletionNames(Session session) {
    this.session = session;
  }

  /** Nothing when the daemon does not answer: a shell is no place for its errors. */
  Stream<String> of(String label, String verb) {
    try (DaemonClient client =
        DaemonClient.open(Locations.daemon(session, Optional.empty(), Optional.empty()))) {
      return names(client, label, verb).toList().stream();
    } catch (ConnectionLost | DaemonProblem | AgentException _) {
      return Stream.empty();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return Stream.empty();
    }
  }

  private static Stream<String> names(DaemonClient client, String label, String verb)
      throws InterruptedException {
    return switch (label) {
      case "CONTAINER", "TARGET", "FROM", "TO" -> {
        String end = label.equals("FROM") || label.equals("TO") ? ":" : "";
        yield Stream.concat(containers(client), services(client)).map(name -> name + end);
      }
      case "DEPLOYMENT" -> all(client, "/deployments", "name");
      case "DEPLOYMENT[/SERVICE]" ->
          Stream.concat(all(client, "/deployments", "name"), services(client));
      case "SERVICE=COUNT" -> services(client).map(name -> name + "=");
      case "IMAGE" ->
          items(client, "/images", Query.NONE)
              .flatMap(one -> one.at("references").strings().stream());
      case "VOLUME" -> all(client, "/volumes", "name");
      case "NETWORK" -> all(client, "/networks", "name");
      case "JOB", "EXECUTION|JOB" -> jobs(client, "/jobs");
      case "EXECUTION" -> all(client, "/executions", "name");
      case "CRON JOB" -> jobs(client, "/cron");
      case "NAME" ->
          switch (verb) {
            case "volume" -> all(client, "/volumes", "name");
            case "network" -> all(client, "/networks", "name");
            case "secret" -> all(client, "/secrets", "name");
            case "token" -> all(client, "/tokens", "name");
            default -> Stream.empty();
          };
      case "SHELL" -> Stream.of("bash", "fish", "zsh");
      default -> Stream.empty();
    };
  }

  private static Stream<String> containers(DaemonClient client) throws InterruptedException {
    return items(client, "/containers", Query.of("all", true))
        .flatMap(one -> one.at("name").string().stream())
        .map(name -> name.contains("/") ? name.replaceFirst("@[0-9]+$", "") : name);
  }

  private static Stream<String> services(DaemonClient client) throws InterruptedException {
    return items(client, "/deployments", Query.NONE)
        .flatMap(
            deployment ->
                deployment.at("services").items().stream()
                    .flatMap(service -> service.at("name").string().stream())
                    .map(name -> deployment.at("name").string().orElse("") + "/" + name));
  }

  private static Stream<String> jobs(DaemonClient client, String path) throws InterruptedException {
    return items(client, path, Query.NONE)
        .map(
            one -> {
              String job = one.at("job").string().or(() -> one.at("name").string()).orElse("");
              String deployment = one.at("deployment").string().orElse("-");
              return deployment.equals("-") || job.contains("/") ? job : deployment + "/" + job;
            });
  }

  private static Stream<String> all(DaemonClient client, String path, String member)
      throws InterruptedException {
    return items(client, path, Query.NONE).flatMap(one -> one.at(member).string().stream());
  }

  private static Stream<Json> items(DaemonClient client, String path, Query query)
      throws InterruptedException {
    Json answer = client.get(path, query, Deadline.after(LIMIT));
    return answer instanceof Json.Arr
        ? answer.items().stream()
        : answer.members().values().stream().flatMap(list -> list.items().stream());
  }
}
