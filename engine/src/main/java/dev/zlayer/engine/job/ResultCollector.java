package dev.zlayer.engine.job;

import dev.zlayer.container.Outcome;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Archivable;
import dev.zlayer.port.Container;
import dev.zlayer.spec.job.JobSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Keeps what a container leaves before it is removed: output and artifacts. What cannot be kept is
 * noted; it never changes how the attempt ended.
 */
final class ResultCollector {
  private final ArtifactStore artifacts;
  private final JobLogStore logs;

  ResultCollector(ArtifactStore artifacts) {
    this.artifacts = artifacts;
    this.logs = new JobLogStore(artifacts);
  }

  AttemptEnd of(
      Execution execution,
      Optional<JobDefinition> definition,
      Container container,
      Optional<Outcome> outcome)
      throws InterruptedException {
    return of(execution, definition, container, outcome, true);
  }

  /** Copying artifacts was stopped: it does not begin again. */
  AttemptEnd withoutArtifacts(
      Execution execution,
      Optional<JobDefinition> definition,
      Container container,
      Optional<Outcome> outcome)
      throws InterruptedException {
    return of(execution, definition, container, outcome, false);
  }

  private AttemptEnd of(
      Execution execution,
      Optional<JobDefinition> definition,
      Container container,
      Optional<Outcome> outcome,
      boolean withArtifacts)
      throws InterruptedException {
    JobSpec job = definition.map(JobDefinition::job).orElse(JobDefaults.SPEC);
    List<String> notes = new ArrayList<>();
    JobLogStore.Kept output = output(execution, job, container, notes);
    List<Attempt.Artifact> kept = List.of();
    if (outcome.isPresent() && withArtifacts) {
      kept = artifacts(execution, job, container, notes);
    } else if (!withArtifacts && !job.artifacts().isEmpty()) {
      notes.add("artifacts: not kept, the execution was stopped while they were copied");
    }
    return new AttemptEnd(
        outcome, Optional.empty(), Optional.empty(), output.log(), output.output(), kept, notes);
  }

  private JobLogStore.Kept output(
      Execution execution, JobSpec job, Container container, List<String> notes)
      throws InterruptedException {
    try {
      return logs.keep(
          execution.id(), execution.attempt().number(), job.maxLogSize().bytes(), container);
    } catch (AgentException e) {
      notes.add("output: " + e.getMessage());
      return JobLogStore.Kept.NOTHING;
    }
  }

  private List<Attempt.Artifact> artifacts(
      Execution execution, JobSpec job, Container container, List<String> notes)
      throws InterruptedException {
    var kept = new ArrayList<Attempt.Artifact>();
    for (int i = 0; i < job.artifacts().size(); i++) {
      String path = job.artifacts().get(i);
      if (!(container instanceof Archivable archive)) {
        notes.add(path + ": files cannot be copied out of this kind of container");
        continue;
      }
      try {
        int attempt = execution.attempt().number();
        kept.add(artifacts.keep(execution.id(), attempt, i, path, archive, job.maxArtifactSize()));
      } catch (AgentException e) {
        notes.add(path + ": " + e.getMessage());
      }
    }
    return kept;
  }
}
