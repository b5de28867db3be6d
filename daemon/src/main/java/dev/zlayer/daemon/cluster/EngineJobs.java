package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.deploy.ClusterExecution;
import dev.zlayer.cluster.deploy.ClusterExecution.Progress;
import dev.zlayer.cluster.deploy.NodeJobs;
import dev.zlayer.container.Claim;
import dev.zlayer.engine.deployment.DeploymentStatus;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.ExecutionStatus;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.job.Overrides;
import dev.zlayer.engine.job.Trigger;
import dev.zlayer.engine.job.TriggerRequest;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Claims;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** The jobs of this node, as its cluster uses them. */
final class EngineJobs implements NodeJobs.Engine {
  private final JobExecutor jobs;
  private final Deployments deployments;
  private final Claims claims;
  private final Supplier<Optional<String>> full;

  /** {@code full} is why no container can be made at the moment. */
  EngineJobs(
      JobExecutor jobs, Deployments deployments, Claims claims, Supplier<Optional<String>> full) {
    this.full = full;
    this.jobs = jobs;
    this.deployments = deployments;
    this.claims = claims;
  }

  @Override
  public Optional<Progress> find(String id) {
    return jobs.find(new ExecutionId(id)).map(EngineJobs::progress);
  }

  private static Progress progress(Execution execution) {
    ExecutionStatus status = execution.status();
    OptionalInt code = status.exitCode();
    return new Progress(
        status.word(),
        code.isPresent() ? Optional.of(code.getAsInt()) : Optional.empty(),
        status instanceof ExecutionStatus.Failed(String reason, _)
            ? Optional.of(reason)
            : Optional.empty(),
        execution.attempts().size(),
        execution.startedAt(),
        execution.finishedAt(),
        status instanceof ExecutionStatus.Failed(String reason, _)
                && !execution.attempts().isEmpty()
                && execution.attempts().getLast().elsewhere()
            ? Optional.of(reason)
            : Optional.empty());
  }

  @Override
  public void start(ClusterExecution execution) {
    if (!shared(execution.deployment())) {
      throw new AgentException.NotFound(
          "deployment '" + execution.deployment() + "'", "it is not applied here yet");
    }
    Optional<String> shortage = full.get();
    if (shortage.isPresent()) {
      throw new AgentException.Unavailable(shortage.get()); // it would fail, and does not have to
    }
    var key = new JobKey(execution.deployment(), execution.job());
    Optional<String> obstacle =
        jobs.definitions().stream()
            .filter(job -> job.key().equals(key) && job.claimed())
            .findFirst()
            .flatMap(_ -> claims.obstacle(Claim.of(key.deployment(), key.name())));
    if (obstacle.isPresent()) {
      throw new AgentException.Busy("it waits for " + obstacle.get());
    }
    ClusterExecution.Request request = execution.request();
    ExecutionId _ =
        jobs.trigger(
            TriggerRequest.of(key, trigger(request))
                .as(new TriggerRequest.Given(ExecutionId.parse(execution.id()), execution.number()))
                .with(
                    new Overrides(
                        request.args(), request.env(), request.deadline(), execution.gpus()))
                .withPriority(Optional.of(request.priority())));
  }

  private static Trigger trigger(ClusterExecution.Request request) {
    return switch (request.trigger()) {
      case "scheduler" -> new Trigger.Scheduler(request.due().orElseThrow());
      case "endpoint" -> new Trigger.Endpoint(request.remote());
      case ClusterExecution.INTERNAL -> new Trigger.Internal("others wait for it");
      default -> new Trigger.Cli();
    };
  }

  @Override
  public void cancel(String id) {
    try {
      Execution _ = jobs.cancel(new ExecutionId(id));
    } catch (AgentException.Conflict | AgentException.NotFound _) {
      // it has ended
    }
  }

  @Override
  public Set<String> live() {
    return jobs.list().stream()
        .filter(one -> !one.status().finished() && shared(one.job().deployment()))
        .map(one -> one.id().text())
        .collect(Collectors.toSet());
  }

  private boolean shared(String deployment) {
    return deployments.find(deployment).flatMap(DeploymentStatus::share).isPresent();
  }
}
