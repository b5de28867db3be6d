package dev.zlayer.runtime.wsl;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.port.LogReader;
import dev.zlayer.runtime.lifecycle.ContainerRecord;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.Starter;
import dev.zlayer.runtime.log.LogFiles;
import dev.zlayer.runtime.oci.tool.Conmon;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;

/** Runs a process in the distribution. */
final class WslStarter extends Starter {
  private static final String PREPARE =
      """
      rm -rf "$1/bundle/attach" "$1/bundle/ctl" "$1/bundle/winsz"
      cp "$2" "$1/bundle/config.json"
      for name in hosts hostname resolv.conf; do cp "$3/$name" "$1/etc/"; done
      chmod 644 "$1"/etc/*
      """;

  private final WslContext context;

  WslStarter(WslContext context) {
    super(context.clock());
    this.context = context;
  }

  @Override
  protected void run(ContainerState state) throws ToolFailed, IOException, InterruptedException {
    context.faults().reached("start.recorded");
    prepare(state);
    context.faults().reached("start.prepared");
    long pid = monitored(state);
    context.faults().reached("start.monitored");
    ContainerRecord.Processes processes =
        new WslProcesses(context.shell()).of(Conmon.monitorPid(state.directory()), pid);
    state.save(record -> record.withProcesses(processes));
    context.faults().reached("start.created");
    // taken before, since a short process has ended by the time the runtime returns
    Instant started = context.clock().instant();
    context.runtime().start(state.name());
    context.faults().reached("start.started");
    state.save(record -> record.running(started));
    new WslExitWatcher(context).watch(state);
    context.faults().reached("start.done");
  }

  /** Brings back what a stop of the distribution took, and clears what the last run left. */
  private void prepare(ContainerState state) throws ToolFailed, IOException, InterruptedException {
    context.runtime().delete(state.name());
    new WslRoots(context.shell(), context.places()).mount(context.place(state));
    context
        .shell()
        .run(
            PREPARE,
            context.place(state).path(),
            context.places().inside(state.directory().config()),
            context.places().inside(state.directory().path()));
    state.logs().prepare();
    for (Path leftover : state.directory().leftByRun(state.name())) {
      Files.deleteIfExists(leftover);
    }
  }

  private long monitored(ContainerState state) throws ToolFailed, InterruptedException {
    ContainerSpec spec = state.record().spec();
    ContainerDir seen = context.places().inside(state.directory());
    var watch =
        new Conmon.Watch(
            state.name(),
            Path.of(context.place(state).bundle()),
            seen,
            new LogFiles(seen.logs(), spec.logs()),
            spec.process().terminal(),
            false);
    CommandResult result =
        Processes.run(
            context.shell().distribution().inside(context.conmon().command(watch)),
            Deadline.after(context.settings().toolLimit()));
    return context.conmon().pid(result, state.directory());
  }

  @Override
  protected void takeProcesses(ContainerState state)
      throws ToolFailed, IOException, InterruptedException {
    new WslRemover(context).takeProcesses(state);
  }

  @Override
  protected LogReader logs(ContainerState state, LogQuery query) {
    return context.logs(state, query);
  }
}
