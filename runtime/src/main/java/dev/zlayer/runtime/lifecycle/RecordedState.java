package dev.zlayer.runtime.lifecycle;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.LogSpec;
import dev.zlayer.container.Outcome;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.runtime.log.EndSignal;
import dev.zlayer.runtime.log.LogFiles;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Watched;
import java.io.IOException;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * One container as this process sees it: its directory, and its record with what is not worth
 * keeping. Readers never wait; changes go to the disk first.
 */
public abstract class RecordedState<R extends Record & LifecycleRecord<R>> implements EndSignal {
  private static final System.Logger LOG = LazyLogger.of(RecordedState.class);

  private final String name;
  private final ContainerDir directory;
  private final Watched<View<R>> view;

  /** Used only while the view is updated. */
  private final RecordFile<R> file;

  protected RecordedState(ContainerDir directory, R record) {
    this.name = directory.path().getFileName().toString();
    this.directory = directory;
    this.file = new RecordFile<>(directory.recordFile());
    this.view = new Watched<>(new View<>(record, false, false, 0, false, Optional.empty()));
  }

  /** The record of a directory; one that a later build wrote is an error, and left as it is. */
  protected static <R extends Record & LifecycleRecord<R>> Optional<R> load(
      ContainerDir directory, Class<R> type) throws IOException {
    return RecordFile.read(directory.recordFile(), type);
  }

  public final String name() {
    return name;
  }

  public final ContainerDir directory() {
    return directory;
  }

  public final LogFiles logs() {
    LogSpec spec = record().spec().logs();
    return new LogFiles(spec.inMemory() ? directory.memoryLogs() : directory.logs(), spec);
  }

  public final Watched<View<R>> view() {
    return view;
  }

  public final R record() {
    return view.now().record();
  }

  public final ContainerStatus status() {
    return view.now().status();
  }

  /** Shows a changed record, which the next save writes. */
  public final void change(UnaryOperator<R> change) {
    view.update(old -> old.with(change.apply(old.record())));
  }

  /** Writes the changed record, then shows it. */
  public final void save(UnaryOperator<R> change) {
    view.update(old -> old.with(written(change.apply(old.record()), false)));
  }

  /** Like {@link #save}, and sure to survive a power failure. */
  public final void saveDurably(UnaryOperator<R> change) {
    view.update(old -> old.with(written(change.apply(old.record()), true)));
  }

  /**
   * Notes the end of a run, unless another one has begun or it is noted already. Also when the disk
   * refuses it: then a later agent will not know how it ended.
   */
  public final void end(int run, Outcome outcome) {
    view.update(
        old ->
            old.removed() || old.record().run() != run || noted(old.record())
                ? old
                : old.ended(endedRecord(old.record(), outcome)));
  }

  /** Notes that a run could not begin. */
  public final void failed(Outcome outcome) {
    view.update(old -> old.ended(endedRecord(old.record(), outcome)));
  }

  private boolean noted(R record) {
    return switch (record.phase()) {
      case ENDED -> true;
      case REMOVING -> record.pid().isEmpty();
      case CREATING, CREATED, STARTING, RUNNING, PAUSED -> false;
    };
  }

  private R endedRecord(R record, Outcome outcome) {
    R ended = record.ended(outcome);
    // a removal under way goes on
    R next = record.phase() == Phase.REMOVING ? ended.withPhase(Phase.REMOVING) : ended;
    try {
      return written(next, false);
    } catch (AgentException.Internal e) {
      LOG.log(System.Logger.Level.ERROR, "the end of a container could not be noted", e);
      return next;
    }
  }

  private R written(R record, boolean durably) {
    try {
      if (durably) {
        file.saveDurably(record);
      } else {
        file.save(record);
      }
      return record;
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot write %s: %s".formatted(directory.recordFile(), e.getMessage()), e);
    }
  }

  /** All output is written before the end is noted. */
  @Override
  public final boolean ended() {
    return view.now().silent();
  }

  @Override
  public final DirectoryWatchLoop.Registration onEnd(Runnable wake) {
    return view.onChange(wake)::close;
  }
}
