package dev.zlayer.engine.translate;

import dev.zlayer.container.ContainerId;
import dev.zlayer.error.AgentException;

/** Looks up containers whose namespaces are to be shared. */
record SharedNamespaces(ContainerResolver names, String deployment) {
  ContainerId container(String id) {
    return names
        .find(deployment, id)
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "container '" + id + "'", "start it before those that share with it"));
  }
}
