package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.Outcome;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.ContainerRecord;
import dev.zlayer.runtime.oci.tool.Conmon;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Runs the process of a container that is made, for the first time or again. */
final class Starting {
  private final Workshop shop;
  private final Bundles bundles;
  private final Dismantling dismantling;
  private final Ending ending;

  Starting(Workshop shop) {
    this.shop = shop;
    this.bundles = new Bundles(shop);
    this.dismantling = new Dismantling(shop);
    this.ending = new Ending(shop);
  }

  /** The caller holds the container's lock. */
  void start(Cell cell) throws InterruptedException {
    ContainerRecord before = cell.record();
    cell.save(record -> record.starting(shop.clock().instant()));
    try {
      run(cell);
    } catch (InterruptedException e) {
      undo(cell, e);
      cell.save(_ -> before);
      throw e;
    } catch (ToolFailed e) {
      throw failed(cell, e.reason(), e);
    } catch (IOException e) {
      throw failed(cell, String.valueOf(e.getMessage()), e);
    } catch (AgentException e) {
      undo(cell, e);
      note(cell, String.valueOf(e.getMessage()));
      throw e;
    }
  }

  private void run(Cell cell) throws ToolFailed, IOException, InterruptedException {
    shop.attaching().soon();
    shop.faults().reached("start.recorded");
    prepare(cell);
    shop.faults().reached("start.prepared");
    ContainerSpec spec = cell.record().spec();
    Conmon.Monitored monitored =
        shop.conmon()
            .create(
                new Conmon.Watch(
                    cell.name(),
                    cell.directory().bundle(),
                    cell.runDirectory(),
                    cell.logs(),
                    spec.process().terminal(),
                    spec.process().stdin()));
    shop.firsts().watch(cell.name(), monitored.process());
    shop.faults().reached("start.monitored");
    cell.save(
        record ->
            record.withProcesses(
                new ContainerRecord.Processes(monitored.monitor(), monitored.process())));
    shop.faults().reached("start.created");
    // taken before, since a short process has ended by the time the runtime returns
    Instant started = shop.clock().instant();
    if (spec.gpu().isPresent()) {
      shop.runtime().start(cell.name()); // only the runtime runs the hooks that came with a GPU
    } else {
      shop.runtime()
          .start(cell.name(), monitored.process(), () -> shop.faults().reached("start.released"));
    }
    shop.faults().reached("start.started");
    cell.save(record -> record.running(started));
    ending.watch(cell);
    shop.faults().reached("start.done");
  }

  /** Brings back what a restart of the machine took, and clears what the last run left. */
  private void prepare(Cell cell) throws ToolFailed, IOException, InterruptedException {
    shop.runtime().delete(cell.name());
    shop.roots().mount(cell.name());
    SharedMemory.mount(cell);
    attach(cell);
    cell.logs().prepare();
    for (Path leftover :
        List.of(
            cell.directory().attachSocket(),
            cell.directory().control(),
            cell.directory().bundle().resolve("winsz"))) {
      Files.deleteIfExists(leftover);
    }
    if (cell.record().run() > 1) {
      RootedDirectory.removeTree(cell.directory().runs());
    }
    Files.createDirectories(cell.runDirectory().path());
    bundles.join(cell);
  }

  /** A namespace does not survive the machine; its successor has another place and address. */
  private void attach(Cell cell) throws IOException, InterruptedException {
    NetworkSpec network = cell.record().spec().network();
    if (network.mode() instanceof NetworkSpec.Mode.Bridge
        && shop.networks().find(cell.name()).isEmpty()) {
      bundles.reattach(cell, shop.networks().attach(cell.name(), network));
    }
  }

  private AgentException failed(Cell cell, String reason, Exception cause) {
    undo(cell, cause);
    note(cell, reason);
    return new AgentException.StartFailed(
        cell.record().id().toString(), reason, lastLines(cell), cause);
  }

  private void note(Cell cell, String reason) {
    cell.end(
        cell.record().run(),
        new Outcome(
            new ExitStatus.RuntimeError(reason),
            Optional.empty(),
            Optional.of(shop.clock().instant())));
  }

  private void undo(Cell cell, Exception cause) {
    boolean interrupted = Thread.interrupted();
    try {
      dismantling.takeProcesses(cell);
    } catch (InterruptedException _) {
      interrupted = true;
    } catch (ToolFailed | IOException | AgentException e) {
      cause.addSuppressed(e);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private List<String> lastLines(Cell cell) {
    var lines = new java.util.ArrayList<String>();
    try (var reader = Logs.open(shop, cell, LogQuery.ALL.withTail(10))) {
      Optional<LogRecord> line = reader.next();
      while (line.isPresent()) {
        lines.add(line.get().text());
        line = reader.next();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException _) {
      // the lines are a courtesy; the reason of the failure matters more than theirs
    }
    return lines;
  }
}
