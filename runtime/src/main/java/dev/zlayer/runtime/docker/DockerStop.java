package dev.zlayer.runtime.docker;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.TaskScope;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** How a container of the engine comes to its end, and how that is waited for. */
record DockerStop(DockerApi api, DockerContainer container, DockerContainerState state) {
  private static final Outcome NEVER_RAN =
      new Outcome(new ExitStatus.Unknown("it has not run"), Optional.empty(), Optional.empty());

  private static final Duration REASON_LIMIT = Duration.ofMillis(500);
  private static final Duration REASON_STEP = Duration.ofMillis(25);

  /** Not the engine's own stop, which counts in seconds and cannot be seen while it waits. */
  Optional<Outcome> stop(Duration grace) throws InterruptedException {
    Inspection seen = required();
    if (!seen.status().alive()) {
      return seen.status() instanceof ContainerStatus.Exited(Outcome outcome)
          ? Optional.of(outcome)
          : Optional.empty();
    }
    state.stopBegins();
    try {
      container.unpause();
      if (!grace.isZero()) {
        signal(seen.stopSignal());
        try {
          return Optional.of(await(WaitCondition.NOT_RUNNING, Deadline.after(grace)));
        } catch (AgentException.Timeout _) {
          // it had its time
        }
      }
      signal(Signal.KILL);
      return Optional.of(await(WaitCondition.NOT_RUNNING, api.deadline()));
    } catch (AgentException.InvalidSpec e) {
      // it ended by itself between two steps
      return Optional.of(endedOr(e));
    } finally {
      state.stopEnds();
    }
  }

  private Outcome endedOr(AgentException failure) throws InterruptedException {
    if (required().status() instanceof ContainerStatus.Exited(Outcome outcome)) {
      return outcome;
    }
    throw failure;
  }

  private void signal(Signal signal) throws InterruptedException {
    container.kill(signal);
  }

  private Inspection required() throws InterruptedException {
    return container
        .look()
        .orElseThrow(() -> new AgentException.NotFound(container.what(), "it was removed"));
  }

  Outcome await(WaitCondition condition, Deadline deadline) throws InterruptedException {
    Optional<Inspection> seen = container.look();
    if (seen.isEmpty()) {
      return state.last().orElse(NEVER_RAN);
    }
    ContainerStatus now = container.status(seen.get());
    return switch (condition) {
      case NOT_RUNNING ->
          now.alive() ? after(waitFor("not-running", deadline), seen.get()) : outcome(now);
      case NEXT_EXIT -> after(nextExit(deadline), seen.get());
      case REMOVED -> after(waitFor("removed", deadline), seen.get());
    };
  }

  private Outcome outcome(ContainerStatus status) {
    return status instanceof ContainerStatus.Exited(Outcome outcome) ? outcome : NEVER_RAN;
  }

  /** One that is removed before it runs again has no next exit, and the engine does not tell. */
  private Optional<Long> nextExit(Deadline deadline) throws InterruptedException {
    BlockingQueue<Optional<Long>> first = new LinkedBlockingQueue<>();
    try (var scope = new TaskScope("docker-wait")) {
      for (String condition : new String[] {"next-exit", "removed"}) {
        scope.fork(
            () -> {
              try {
                return first.add(waitFor(condition, Deadline.none()));
              } catch (AgentException e) {
                first.add(Optional.empty());
                throw e;
              }
            });
      }
      Optional<Long> code = first.poll(deadline.leftNanos(), TimeUnit.NANOSECONDS);
      if (code == null) {
        throw new AgentException.Timeout("waiting for the next exit", deadline.limit());
      }
      if (code.isEmpty()) {
        scope.join(); // throws what went wrong; a container that is gone ends both waits
      }
      return code;
    }
  }

  /** The exit code as the engine tells it at that moment; empty when the container is gone. */
  private Optional<Long> waitFor(String condition, Deadline deadline) throws InterruptedException {
    var request = HttpRequest.of("POST", container.path("wait") + "?condition=" + condition);
    DockerApi.Answer answer = api.send(request, deadline);
    return answer.status() == 404
        ? Optional.empty()
        : answer.required(container.what()).body().at("StatusCode").integer();
  }

  /** The engine's record when it still shows the end that was waited for, else the bare code. */
  private Outcome after(Optional<Long> code, Inspection before) throws InterruptedException {
    Optional<Inspection> seen = container.look();
    if (seen.isPresent()
        && container.status(seen.get()) instanceof ContainerStatus.Exited(Outcome outcome)) {
      return mayLackReason(outcome) ? withReason(outcome) : outcome;
    }
    if (seen.isEmpty() && state.last().isPresent()) {
      return state.last().get();
    }
    if (seen.isEmpty() && before.startedAt().isEmpty()) {
      return NEVER_RAN;
    }
    return new Outcome(
        code.<ExitStatus>map(value -> Inspection.exit(value.intValue()))
            .orElse(new ExitStatus.Unknown("it was removed")),
        before.startedAt(),
        Optional.empty());
  }

  /** The engine learns of an end and of memory that ran out by two events, in either order. */
  private boolean mayLackReason(Outcome outcome) {
    return !state.stopping()
        && container.spec().resources().memoryBytes().isPresent()
        && outcome.status().equals(new ExitStatus.Signalled(Signal.KILL));
  }

  private Outcome withReason(Outcome outcome) throws InterruptedException {
    Deadline deadline = Deadline.after(REASON_LIMIT);
    while (!deadline.passed()) {
      Pauses.REAL.pause(REASON_STEP);
      if (container.look().map(Inspection::status).orElse(new ContainerStatus.Exited(outcome))
              instanceof ContainerStatus.Exited(Outcome later)
          && later.status() instanceof ExitStatus.OutOfMemory) {
        return later;
      }
    }
    return outcome;
  }

  void remove(boolean force) throws InterruptedException {
    Optional<Inspection> seen = container.look();
    if (seen.isEmpty()) {
      return;
    }
    if (container.status(seen.get()).alive()) {
      if (!force) {
        throw new AgentException.Conflict(
            container.what() + " runs: stop it first or force the removal");
      }
      Optional<Outcome> _ = stop(Duration.ZERO);
      Optional<ContainerStatus> _ = container.look().map(container::status);
    }
    DockerApi.Answer answer =
        api.delete(container.path("").replaceAll("/$", "") + "?v=true&force=" + force);
    if (answer.status() == 409 && answer.message().contains("already in progress")) {
      Optional<Long> _ = waitFor("removed", api.deadline());
    } else if (answer.status() != 404) {
      DockerApi.Answer _ = answer.required(container.what());
    }
  }
}
