package dev.zlayer.runtime.oci;

import dev.zlayer.container.Claim;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.host.linux.ControlGroup;
import dev.zlayer.host.linux.KernelLog;
import dev.zlayer.host.linux.ProcessGroup;
import dev.zlayer.runtime.lifecycle.ContainerRecord;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.ExitNotes;
import dev.zlayer.runtime.lifecycle.Phase;
import dev.zlayer.runtime.observe.StatsSource;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalInt;

/** Learns how a run ended from what its monitor noted, and from nothing else. */
final class ExitWatcher {
  private static final System.Logger LOG = LazyLogger.of(ExitWatcher.class);
  private static final int SIGNAL_BITS = 0x7f;

  private final OciContext context;

  ExitWatcher(OciContext context) {
    this.context = context;
  }

  /** From now on the end of the current run becomes known, at once if it has already come. */
  void watch(ContainerState state) {
    ContainerRecord record = state.record();
    record
        .processes()
        .ifPresent(
            processes -> {
              DirectoryWatchLoop.Registration log = keepLog(state);
              context.sampler().watch(record.id(), source(state, processes.first().pid()));
              context
                  .exits()
                  .onEnd(
                      processes.monitor(),
                      () -> {
                        log.close();
                        context.sampler().remove(record.id());
                        end(state, record);
                      });
            });
  }

  /**
   * What a process that waits uses is known; when it ends before it was let go, it does not wait.
   */
  void watchPrepared(ContainerState state) {
    ContainerRecord record = state.record();
    ContainerRecord.Processes processes = record.processes().orElseThrow();
    context.sampler().watch(record.id(), source(state, processes.first().pid()));
    context
        .exits()
        .onEnd(
            processes.monitor(),
            () -> {
              Phase phase = state.record().phase();
              if (phase == Phase.STARTING || phase == Phase.REMOVING) {
                context.sampler().remove(record.id());
                state.view().update(view -> view.prepared(false));
              }
            });
  }

  private StatsSource source(ContainerState state, long pid) {
    ProcessGroup group = context.processes(state, pid);
    StatsSource usual = StatsSource.of(group, pid);
    return state.record().spec().gpu().isEmpty()
        ? usual
        : time -> usual.read(time).withGpu(context.gpus().usage(group.processes()));
  }

  /** The monitor is gone: notes the outcome, and ends what it left unwatched. */
  void end(ContainerState state, ContainerRecord record) {
    if (!Files.exists(state.directory().exitCode(state.name()))) {
      record.processes().ifPresent(ExitWatcher::kill);
    }
    if (state.record().run() == record.run()) {
      releasePorts(state); // before: whoever learns of the end may publish them
    }
    state.end(record.run(), outcome(state, record));
  }

  /** They stay with the container where that fails, and are freed with its removal. */
  private void releasePorts(ContainerState state) {
    try {
      context.networks().published().release(state.name());
    } catch (AgentException e) {
      LOG.log(System.Logger.Level.WARNING, "cannot free the ports of " + state.record().id(), e);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private Outcome outcome(ContainerState state, ContainerRecord record) {
    OptionalInt wait = context.firsts().waitStatus(state.name());
    return ExitNotes.read(
        state.directory().exitCode(state.name()), record, code -> status(state, code, wait));
  }

  /** The monitor notes a death by a signal and an exit with its number alike. */
  private ExitStatus status(ContainerState state, int code, OptionalInt wait) {
    Optional<String> watchdog = watchdogNote(state);
    if (ExitNotes.killed(code) && watchdog.isPresent()) {
      return Claim.stopped(watchdog.get());
    }
    if (ExitNotes.killed(code)
        && (Files.exists(state.directory().outOfMemory()) || killedForMemory(state))) {
      return new ExitStatus.OutOfMemory();
    }
    boolean ownCode =
        wait.isPresent()
            && (wait.getAsInt() & SIGNAL_BITS) == 0
            && !state.record().spec().process().init();
    return ownCode ? new ExitStatus.Code(code) : ExitNotes.status(code);
  }

  private static Optional<String> watchdogNote(ContainerState state) {
    try {
      return Optional.of(Files.readString(state.directory().watchdogNote()).strip());
    } catch (IOException _) {
      return Optional.empty();
    }
  }

  /** By the counters of its group, or by the kernel's log where systemd has removed the group. */
  private boolean killedForMemory(ContainerState state) {
    ControlGroup group = context.group(state);
    try {
      if (group.outOfMemoryKills() > 0) {
        return true;
      }
      if (group.exists()) {
        return false;
      }
    } catch (IOException _) {
      // it is being removed
    }
    try {
      return KernelLog.outOfMemory(
          context.cgroup(state).directory(), state.record().startedAt().orElse(Instant.EPOCH));
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** Nobody keeps its output or would learn of its end: a container cannot run unwatched. */
  private static void kill(ContainerRecord.Processes processes) {
    try {
      processes.first().signal(Signal.KILL.number());
    } catch (IOException e) {
      throw new AgentException.Internal("cannot end an unwatched container", e);
    }
  }

  private DirectoryWatchLoop.Registration keepLog(ContainerState state) {
    try {
      return context.rotation().keep(state.logs());
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot watch the log of %s: %s".formatted(state.record().id(), e.getMessage()), e);
    }
  }
}
