package dev.zlayer.engine.job;

import dev.zlayer.error.AgentException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Which jobs run before which. Pure. */
final class JobNeeds {
  private JobNeeds() {}

  /**
   * The job and all that it needs, each once, every one behind what it needs itself.
   *
   * @throws AgentException.NotFound a job does not exist
   * @throws AgentException.InvalidSpec jobs need each other in a circle
   */
  static List<JobDefinition> inOrder(JobKey job, Map<JobKey, JobDefinition> definitions) {
    var ordered = new ArrayList<JobDefinition>();
    visit(job, definitions, ordered, new LinkedHashSet<>());
    return ordered;
  }

  private static void visit(
      JobKey job,
      Map<JobKey, JobDefinition> definitions,
      List<JobDefinition> ordered,
      Set<JobKey> path) {
    if (ordered.stream().anyMatch(done -> done.key().equals(job))) {
      return;
    }
    JobDefinition definition = definitions.get(job);
    if (definition == null) {
      throw job.notFound();
    }
    if (!path.add(job)) {
      throw new AgentException.InvalidSpec(
          "jobs need each other in a circle: %s -> %s"
              .formatted(
                  String.join(" -> ", path.stream().map(JobKey::name).toList()), job.name()));
    }
    for (JobKey needed : definition.needs()) {
      visit(needed, definitions, ordered, path);
    }
    path.remove(job);
    ordered.add(definition);
  }
}
