package dev.zlayer.cli.print;

import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Deployments as {@code status} shows them. Pure. */
public final class StatusText {
  private StatusText() {}

  public static String list(List<Json> deployments, Instant now, Style style) {
    boolean nodes = ContainerTable.onNodes(deployments);
    var headings =
        new ArrayList<>(List.of("DEPLOYMENT", "STATE", "REVISION", "SERVICES", "JOBS", "CHANGED"));
    if (nodes) {
      headings.add(1, "NODE");
    }
    var table = new Table(headings.toArray(String[]::new));
    for (Json deployment : deployments) {
      var cells =
          new ArrayList<>(
              List.of(
                  name(deployment),
                  style.state(text(deployment, "state")),
                  number(deployment, "revision"),
                  String.valueOf(deployment.at("services").items().size()),
                  String.valueOf(deployment.at("jobs").items().size()),
                  age(deployment, "updated", now)));
      if (nodes) {
        cells.add(1, deployment.at("node").string().orElse("all"));
      }
      table.row(cells.toArray(String[]::new));
    }
    return table.toString();
  }

  public static String of(Json deployment, Instant now, Style style) {
    var text = new StringBuilder();
    text.append(
        "deployment '%s', %s, revision %s%n"
            .formatted(
                text(deployment, "name"),
                style.state(text(deployment, "state")),
                number(deployment, "revision")));
    message(deployment.at("problem"))
        .ifPresent(problem -> text.append(style.bad(problem)).append('\n'));
    List<Json> services = deployment.at("services").items();
    if (!services.isEmpty()) {
      text.append('\n').append(services(services, now, style));
    }
    List<Json> jobs = deployment.at("jobs").items();
    if (!jobs.isEmpty()) {
      text.append('\n').append(JobTables.jobs(jobs, now, style));
    }
    for (Json service : services) {
      autoUpdate(service, now).ifPresent(line -> text.append('\n').append(line).append('\n'));
    }
    for (Json service : services) {
      traffic(service).ifPresent(line -> text.append('\n').append(line).append('\n'));
    }
    for (String remark : remarks(services, jobs)) {
      text.append('\n').append(remark).append('\n');
    }
    return text.toString();
  }

  private static Optional<String> autoUpdate(Json service, Instant now) {
    Json update = service.at("auto_update");
    return update
        .at("schedule")
        .string()
        .map(
            schedule ->
                "%s: updates itself (%s), next check in %s%s"
                    .formatted(
                        name(service),
                        schedule,
                        update
                            .at("next")
                            .string()
                            .map(next -> HumanUnits.briefAge(now, Instant.parse(next)))
                            .orElse("-"),
                        update
                            .at("last_result")
                            .string()
                            .map(result -> "; last: " + result)
                            .orElse("")));
  }

  private static Optional<String> traffic(Json service) {
    Json traffic = service.at("traffic");
    return traffic.isNull()
        ? Optional.empty()
        : Optional.of(
            "%s: %s requests/s; last 5 minutes: %s requests, %s errors, p50 %s ms, p95 %s ms, p99 %s ms"
                .formatted(
                    name(service),
                    number(traffic, "requests_per_second"),
                    number(traffic, "requests"),
                    number(traffic, "errors"),
                    number(traffic, "p50_millis"),
                    number(traffic, "p95_millis"),
                    number(traffic, "p99_millis")));
  }

  private static Table services(List<Json> services, Instant now, Style style) {
    boolean nodes =
        services.stream()
            .anyMatch(service -> ContainerTable.onNodes(service.at("replicas").items()));
    var headings =
        new ArrayList<>(
            List.of("SERVICE", "STATE", "READY", "REPLICA", "HEALTH", "RESTARTS", "AGE", "PORTS"));
    if (nodes) {
      headings.add(4, "NODE");
    }
    var table = new Table(headings.toArray(String[]::new));
    for (Json service : services) {
      var cells =
          new ArrayList<>(
              List.of(
                  name(service),
                  style.state(text(service, "state")),
                  number(service, "ready") + "/" + number(service, "wanted"),
                  service.at("waiting_for").string().map(what -> "waiting for " + what).orElse(""),
                  "",
                  "",
                  "",
                  endpoints(service)));
      if (nodes) {
        cells.add(4, "");
      }
      table.row(cells.toArray(String[]::new));
      for (Json replica : service.at("replicas").items()) {
        var line =
            new ArrayList<>(
                List.of(
                    "",
                    style.state(text(replica, "state")),
                    "",
                    replica(replica),
                    style.state(health(replica)),
                    number(replica, "restarts"),
                    age(replica, "started", now),
                    Ports.text(replica.at("ports").items())));
        if (nodes) {
          line.add(4, text(replica, "node"));
        }
        table.row(line.toArray(String[]::new));
      }
    }
    return table;
  }

  /**
   * Why a revision was rolled back, and the last error of each service and of each job that others
   * wait for, with the output that came before it.
   */
  private static List<String> remarks(List<Json> services, List<Json> jobs) {
    var remarks = new ArrayList<String>();
    for (Json service : services) {
      Json rollout = service.at("rollout");
      Json back = rollout.at("rolled_back_to");
      rollout
          .at("step")
          .string()
          .ifPresent(
              step ->
                  remarks.add(
                      "%s: revision %s: %s"
                          .formatted(name(service), number(rollout, "revision"), step)));
      if (!back.isNull()) {
        remark(
                "%s: revision %s was rolled back to %s: "
                    .formatted(
                        name(service),
                        number(rollout, "revision"),
                        number(rollout, "rolled_back_to")),
                rollout.at("reason"))
            .ifPresent(remarks::add);
      }
      if (!DeployModel.settled(service)) {
        remark(name(service) + ": ", service.at("last_error")).ifPresent(remarks::add);
      }
    }
    for (Json job : jobs) {
      remark(name(job) + ": ", job.at("last_error")).ifPresent(remarks::add);
    }
    return remarks;
  }

  private static Optional<String> remark(String what, Json error) {
    List<String> lines = error.at("last_lines").strings();
    return message(error)
        .map(
            message ->
                what + message + (lines.isEmpty() ? "" : "\n  " + String.join("\n  ", lines)));
  }

  private static String endpoints(Json service) {
    List<String> ports = new ArrayList<>();
    for (Json endpoint : service.at("endpoints").items()) {
      String port = number(endpoint, "port");
      ports.add(text(endpoint, "protocol") + " " + port + " " + text(endpoint, "expose"));
    }
    return String.join(", ", ports);
  }

  /** The role only when there are several. */
  private static String replica(Json replica) {
    String role = replica.at("role").string().filter(name -> !name.equals("default")).orElse("");
    return (role.isEmpty() ? "" : role + "/") + number(replica, "replica");
  }

  private static String health(Json replica) {
    Json health = replica.at("health");
    return health.string().or(() -> health.at("state").string()).orElse("-");
  }

  private static String name(Json service) {
    return service.at("name").string().or(() -> service.at("service").string()).orElse("?");
  }

  static Optional<String> message(Json failure) {
    return failure.string().or(() -> failure.at("message").string());
  }

  static String text(Json json, String name) {
    return json.at(name).string().filter(value -> !value.isEmpty()).orElse("-");
  }

  static String number(Json json, String name) {
    return json.at(name).integer().map(String::valueOf).orElse("-");
  }

  static String age(Json json, String name, Instant now) {
    return json.at(name)
        .string()
        .map(then -> HumanUnits.briefAge(Instant.parse(then), now))
        .orElse("-");
  }
}
