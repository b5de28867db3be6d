package dev.zlayer.daemon;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.deployment.DeploymentStore;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.Quarantine;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.json.Json;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import java.io.IOException;
import java.nio.file.Files;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What could not be read of the agent's state, and what happened to it. */
record Damages(
    boolean stateReset, DeploymentStore records, StateStore store, ContainerRuntime runtime) {
  /** A store without content where there was one: the key of its secrets is still there. */
  static boolean emptied(DataDir dirs) {
    try {
      return Files.exists(dirs.stateFile())
          && Files.size(dirs.stateFile()) == 0
          && Files.exists(dirs.secretKey());
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "%s cannot be read: %s".formatted(dirs.stateFile(), e.getMessage()), e);
    }
  }

  List<String> list() {
    var all = new ArrayList<String>();
    if (stateReset) {
      all.add("state.db was empty at the start: deployments, jobs and secrets of before are lost");
    }
    records.later().forEach((name, reason) -> all.add("deployment %s: %s".formatted(name, reason)));
    Quarantine.all(store)
        .forEach(
            record ->
                all.add(
                    "record %s of state.db was put aside: the event record.quarantined has the reason"
                        .formatted(record)));
    for (Container container : runtime.list()) {
      // one that an earlier agent made ahead is being removed, whatever is wrong with it
      if (container.status() instanceof ContainerStatus.Unknown(String reason)
          && !container.id().prepared()) {
        all.add("container %s: %s".formatted(container.id(), reason));
      }
    }
    return all;
  }

  /** Damage is an event as well, so that whoever watches the node learns of it. */
  void report(InstantSource clock, Log log) {
    for (String damage : list()) {
      log.warn("damaged", Map.of("what", damage));
      store.commit(
          Change.of(
              new Event(
                  clock.instant(),
                  "agent.damaged",
                  "agent",
                  Json.object().put("what", damage).build())));
    }
  }
}
