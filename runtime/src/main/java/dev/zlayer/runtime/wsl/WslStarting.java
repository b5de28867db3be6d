package dev.zlayer.runtime.wsl;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.port.LogReader;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.ContainerRecord;
import dev.zlayer.runtime.life.Starter;
import dev.zlayer.runtime.log.LogFiles;
import dev.zlayer.runtime.oci.tool.Conmon;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;

/** Runs a process in the distribution. */
final class WslStarting extends Starter {
  private static final String PREPARE =
      """
      rm -rf "$1/bundle/attach" "$1/bundle/ctl" "$1/bundle/winsz"
      cp "$2" "$1/bundle/config.json"
      for name in hosts hostname resolv.conf; do cp "$3/$name" "$1/etc/"; done
      chmod 644 "$1"/etc/*
      """;

  private final WslShop shop;

  WslStarting(WslShop shop) {
    super(shop.clock());
    this.shop = shop;
  }

  @Override
  protected void run(Cell cell) throws ToolFailed, IOException, InterruptedException {
    shop.faults().reached("start.recorded");
    prepare(cell);
    shop.faults().reached("start.prepared");
    long pid = monitored(cell);
    shop.faults().reached("start.monitored");
    ContainerRecord.Processes processes =
        new WslProcesses(shop.shell()).of(Conmon.monitorPid(cell.directory()), pid);
    cell.save(record -> record.withProcesses(processes));
    shop.faults().reached("start.created");
    // taken before, since a short process has ended by the time the runtime returns
    Instant started = shop.clock().instant();
    shop.runtime().start(cell.name());
    shop.faults().reached("start.started");
    cell.save(record -> record.running(started));
    new WslEnding(shop).watch(cell);
    shop.faults().reached("start.done");
  }

  /** Brings back what a stop of the distribution took, and clears what the last run left. */
  private void prepare(Cell cell) throws ToolFailed, IOException, InterruptedException {
    shop.runtime().delete(cell.name());
    new WslRoots(shop.shell(), shop.places()).mount(shop.place(cell));
    shop.shell()
        .run(
            PREPARE,
            shop.place(cell).path(),
            shop.places().inside(cell.directory().config()),
            shop.places().inside(cell.directory().path()));
    cell.logs().prepare();
    for (Path leftover : cell.directory().leftByRun(cell.name())) {
      Files.deleteIfExists(leftover);
    }
  }

  private long monitored(Cell cell) throws ToolFailed, InterruptedException {
    ContainerSpec spec = cell.record().spec();
    ContainerDir seen = shop.places().inside(cell.directory());
    var watch =
        new Conmon.Watch(
            cell.name(),
            Path.of(shop.place(cell).bundle()),
            seen,
            new LogFiles(seen.logs(), spec.logs()),
            spec.process().terminal(),
            false);
    CommandResult result =
        Processes.run(
            shop.shell().distribution().inside(shop.conmon().command(watch)),
            Deadline.after(shop.settings().toolLimit()));
    return shop.conmon().pid(result, cell.directory());
  }

  @Override
  protected void takeProcesses(Cell cell) throws ToolFailed, IOException, InterruptedException {
    new WslDismantling(shop).takeProcesses(cell);
  }

  @Override
  protected LogReader logs(Cell cell, LogQuery query) {
    return shop.logs(cell, query);
  }
}
