package dev.zlayer.engine.init;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.spec.service.InitAction.HostRun;
import dev.zlayer.task.Deadline;

/** Runs a command on the machine itself; at its time limit it is killed with its children. */
final class HostRunAction implements PreparedAction {
  private final HostRun wanted;

  HostRunAction(HostRun wanted) {
    this.wanted = wanted;
  }

  @Override
  public String perform(Deadline deadline) throws InterruptedException {
    CommandResult result =
        Processes.run(Command.of(wanted.command().words()), deadline.atMost(wanted.timeout()));
    String log = result.stdout() + result.stderr();
    if (!result.success()) {
      throw new ActionFailed("the command ended with exit code " + result.code(), log);
    }
    return log;
  }
}
