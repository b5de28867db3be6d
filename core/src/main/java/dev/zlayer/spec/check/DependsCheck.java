package dev.zlayer.spec.check;

import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.problem.Nearest;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.service.DependsSpec;
import dev.zlayer.spec.service.DependsSpec.Condition;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Who waits for whom: targets exist, can reach the condition, and never wait for themselves. */
final class DependsCheck {
  /** One thing waits for another; the path is where the file says so. */
  private record Edge(String target, SpecPath path) {}

  private static final int MOST_SHOWN = 20;

  private final Map<String, ServiceSpec> services;
  private final Findings findings;
  private final Map<String, List<Edge>> edges = new LinkedHashMap<>();
  private final Set<String> finished = new HashSet<>();
  private final List<String> trail = new ArrayList<>();

  private DependsCheck(DeploymentSpec deployment, Findings findings) {
    this.services = deployment.services();
    this.findings = findings;
  }

  static void check(DeploymentSpec deployment, Findings findings) {
    var check = new DependsCheck(deployment, findings);
    deployment.services().forEach(check::addEdges);
    deployment.services().keySet().forEach(check::visit);
    deployment.services().forEach(check::checkJobDepends);
  }

  private void addEdges(String name, ServiceSpec service) {
    var found = new ArrayList<Edge>();
    List<DependsSpec> depends = service.lifecycle().depends();
    for (int i = 0; i < depends.size(); i++) {
      SpecPath path = Checks.service(name).key("depends").index(i);
      DependsSpec wanted = depends.get(i);
      findings.positive(path.key("timeout"), wanted.timeout());
      if (exists(name, wanted.service(), path.key("service"))) {
        checkCondition(wanted, path.key("condition"));
        found.add(new Edge(wanted.service(), path.key("service")));
      }
    }
    List<String> needs = service.job().needs();
    for (int i = 0; i < needs.size(); i++) {
      SpecPath path = Checks.service(name).key("job").key("needs").index(i);
      if (exists(name, needs.get(i), path)) {
        checkNeed(needs.get(i), path);
        found.add(new Edge(needs.get(i), path));
      }
    }
    edges.put(name, found);
  }

  /** What a job depends on is waited for when it runs for others, and at no other time. */
  private void checkJobDepends(String name, ServiceSpec service) {
    if (service.rtype() == RunType.SERVICE || service.lifecycle().depends().isEmpty()) {
      return;
    }
    boolean waitedFor =
        services.values().stream()
            .flatMap(other -> other.lifecycle().depends().stream())
            .anyMatch(depends -> depends.service().equals(name));
    if (service.rtype() == RunType.CRON || !waitedFor) {
      findings.notHonoured(
          Checks.service(name).key("depends"),
          "nothing depends on this job, so nothing waits here; use job.needs or init.wait_tcp");
    }
  }

  private boolean exists(String from, String target, SpecPath path) {
    if (!findings.clean(path)) {
      return false;
    }
    if (target.equals(from)) {
      findings.problem(path, "'%s' cannot wait for itself, remove this".formatted(from));
      return false;
    }
    if (!services.containsKey(target)) {
      findings.problem(
          path,
          "the service '%s' does not exist%s"
              .formatted(target, Nearest.hint(target, services.keySet())));
      return false;
    }
    return true;
  }

  private void checkCondition(DependsSpec wanted, SpecPath path) {
    RunType type = type(wanted.service());
    if (type == RunType.CRON) {
      findings.problem(
          path,
          "'%s' runs on a schedule and cannot be waited for, remove this"
              .formatted(wanted.service()));
      return;
    }
    boolean completed = wanted.condition() == Condition.COMPLETED;
    if (completed && type == RunType.SERVICE) {
      findings.problem(
          path, "only a job completes and '%s' is none, write healthy".formatted(wanted.service()));
    }
    if (!completed && wanted.condition() != Condition.STARTED && type == RunType.JOB) {
      findings.problem(
          path,
          "'%s' is a job and never healthy, write condition: completed"
              .formatted(wanted.service()));
    }
  }

  private void checkNeed(String target, SpecPath path) {
    if (type(target) != RunType.JOB) {
      findings.problem(
          path, "'%s' is not a job, write it under 'depends' instead".formatted(target));
    }
  }

  private RunType type(String name) {
    ServiceSpec service = services.get(name);
    return service == null ? RunType.SERVICE : service.rtype();
  }

  private static String shown(List<String> circle) {
    String names = String.join(" -> ", circle.subList(0, Math.min(circle.size(), MOST_SHOWN)));
    return circle.size() > MOST_SHOWN ? names + " -> ..." : names;
  }

  /** Depth first; an edge back into the trail closes a cycle, which is reported once. */
  private void visit(String name) {
    if (finished.contains(name)) {
      return;
    }
    trail.add(name);
    for (Edge edge : edges.getOrDefault(name, List.of())) {
      int start = trail.indexOf(edge.target());
      if (start >= 0) {
        String cycle = shown(trail.subList(start, trail.size()));
        findings.problem(
            edge.path(),
            "closes the circle %s -> %s, remove one of these".formatted(cycle, edge.target()));
      } else {
        visit(edge.target());
      }
    }
    trail.removeLast();
    finished.add(name);
  }
}
