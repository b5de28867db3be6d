package dev.zlayer.engine.init;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.LogLines;
import dev.zlayer.spec.service.InitAction.Run;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Rollback;
import java.util.List;
import java.util.Optional;

/**
 * Runs a command in a helper container that is like the main one: same image, environment, user,
 * network and volumes. The helper is removed in every case.
 */
final class RunAction implements PreparedAction {
  private static final int KEPT_LINES = 200;

  private final Run wanted;
  private final ContainerId helper;
  private final ContainerSpec main;
  private final ContainerRuntime runtime;

  RunAction(Run wanted, ContainerId helper, ContainerSpec main, ContainerRuntime runtime) {
    this.wanted = wanted;
    this.helper = helper;
    this.main = main;
    this.runtime = runtime;
  }

  @Override
  public String perform(Deadline deadline) throws InterruptedException {
    Deadline end = deadline.atMost(wanted.timeout());
    removeLeftover();
    try (var rollback = new Rollback()) {
      Container container = runtime.create(helper, spec());
      rollback.add("remove " + helper, () -> removeQuietly(container));
      container.start();
      Outcome outcome = await(container, end);
      String log = output(container);
      if (!outcome.status().success()) {
        throw new ActionFailed("the command ended with %s".formatted(outcome.status().text()), log);
      }
      return log;
    }
  }

  private void removeLeftover() throws InterruptedException {
    Optional<Container> leftover = runtime.find(helper);
    if (leftover.isPresent()) {
      leftover.get().remove(true);
    }
  }

  /** What stays is found by its labels and taken away later; the step's result is not its fault. */
  private static void removeQuietly(Container container) throws InterruptedException {
    try {
      container.remove(true);
    } catch (AgentException _) {
      // see above
    }
  }

  private static Outcome await(Container container, Deadline end) throws InterruptedException {
    try {
      return container.await(WaitCondition.NOT_RUNNING, end);
    } catch (AgentException.Timeout _) {
      throw new AgentException.Timeout("running the command", end.limit());
    }
  }

  /** The main container's ports are its own: a helper publishes none. */
  private ContainerSpec spec() {
    List<String> words = wanted.command().words();
    NetworkSpec network = main.network();
    return main.withProcess(
            main.process()
                .withEntrypoint(words.toArray(String[]::new))
                .withArgs()
                .withTerminal(false)
                .withStdin(false))
        .withNetwork(
            new NetworkSpec(
                network.mode(),
                network.hostname(),
                List.of(),
                network.dns(),
                network.dnsSearch(),
                network.hosts()));
  }

  private static String output(Container container) throws InterruptedException {
    try (var reader = container.logs(LogQuery.ALL.withTail(KEPT_LINES))) {
      return String.join("\n", LogLines.read(reader));
    }
  }
}
