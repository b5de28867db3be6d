package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.port.LogReader;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.ContainerRecord;
import dev.zlayer.runtime.life.Starter;
import dev.zlayer.runtime.oci.tool.Conmon;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;

/** Runs the process of a container that is made, for the first time or again. */
final class Starting extends Starter {
  private final Workshop shop;
  private final Bundles bundles;
  private final Dismantling dismantling;
  private final Ending ending;

  Starting(Workshop shop) {
    super(shop.clock());
    this.shop = shop;
    this.bundles = new Bundles(shop);
    this.dismantling = new Dismantling(shop);
    this.ending = new Ending(shop);
  }

  @Override
  protected void run(Cell cell) throws ToolFailed, IOException, InterruptedException {
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
                    cell.directory(),
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
    Path root = shop.roots().mount(cell.name());
    Files.createDirectories(cell.directory().run());
    SharedMemory.mount(cell);
    attach(cell);
    cell.logs().prepare();
    for (Path leftover : cell.directory().leftByRun(cell.name())) {
      Files.deleteIfExists(leftover);
    }
    Bundles.link(cell);
    bundles.prepareRoot(cell, root);
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

  @Override
  protected void takeProcesses(Cell cell) throws ToolFailed, IOException, InterruptedException {
    dismantling.takeProcesses(cell);
  }

  @Override
  protected LogReader logs(Cell cell, LogQuery query) {
    return Logs.open(shop, cell, query);
  }
}
