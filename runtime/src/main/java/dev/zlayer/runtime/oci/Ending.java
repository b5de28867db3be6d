package dev.zlayer.runtime.oci;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.ContainerRecord;
import dev.zlayer.runtime.life.ExitNotes;
import dev.zlayer.runtime.observe.StatsSource;
import java.io.IOException;
import java.nio.file.Files;
import java.util.OptionalInt;

/** Learns how a run ended from what its monitor noted, and from nothing else. */
final class Ending {
  private static final int SIGNAL_BITS = 0x7f;

  private final Workshop shop;

  Ending(Workshop shop) {
    this.shop = shop;
  }

  /** From now on the end of the current run becomes known, at once if it has already come. */
  void watch(Cell cell) {
    ContainerRecord record = cell.record();
    record
        .processes()
        .ifPresent(
            processes -> {
              DirectoryWatchLoop.Registration log = keepLog(cell);
              shop.sampler()
                  .watch(record.id(), StatsSource.of(shop.group(cell), processes.first().pid()));
              shop.exits()
                  .onEnd(
                      processes.monitor(),
                      () -> {
                        log.close();
                        shop.sampler().remove(record.id());
                        end(cell, record);
                      });
            });
  }

  /** The monitor is gone: notes the outcome, and ends what it left unwatched. */
  void end(Cell cell, ContainerRecord record) {
    if (!Files.exists(cell.directory().exitCode(cell.name()))) {
      record.processes().ifPresent(Ending::kill);
    }
    cell.end(record.run(), outcome(cell, record));
  }

  private Outcome outcome(Cell cell, ContainerRecord record) {
    OptionalInt wait = shop.firsts().waitStatus(cell.name());
    return ExitNotes.read(
        cell.directory().exitCode(cell.name()), record, code -> status(cell, code, wait));
  }

  /** The monitor notes a death by a signal and an exit with its number alike. */
  private ExitStatus status(Cell cell, int code, OptionalInt wait) {
    if (ExitNotes.killed(code)
        && (Files.exists(cell.directory().outOfMemory()) || killedForMemory(cell))) {
      return new ExitStatus.OutOfMemory();
    }
    boolean ownCode =
        wait.isPresent()
            && (wait.getAsInt() & SIGNAL_BITS) == 0
            && !cell.record().spec().process().init();
    return ownCode ? new ExitStatus.Code(code) : ExitNotes.status(code);
  }

  private boolean killedForMemory(Cell cell) {
    try {
      return shop.group(cell).outOfMemoryKills() > 0;
    } catch (IOException _) {
      return false; // the group is gone, so only the monitor can tell
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

  private DirectoryWatchLoop.Registration keepLog(Cell cell) {
    try {
      return shop.rotation().keep(cell.logs());
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot watch the log of %s: %s".formatted(cell.record().id(), e.getMessage()), e);
    }
  }
}
