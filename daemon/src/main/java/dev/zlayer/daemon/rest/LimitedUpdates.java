package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.AccessDenied;
import dev.zlayer.engine.deployment.DeploymentDiff;
import dev.zlayer.engine.deployment.DeploymentDiff.ServiceChange;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.engine.deployment.Revision;
import dev.zlayer.engine.deployment.UpRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;

/**
 * What a token of one deployment may change in its file. A file can mount any directory of the host
 * and use any secret, so only keys that give a service nothing that it does not have are open; the
 * rest is for callers with all rights.
 */
public final class LimitedUpdates {
  private static final Set<String> OPEN = Set.of("image", "command", "scale", "update");

  private final Deployments deployments;

  LimitedUpdates(Deployments deployments) {
    this.deployments = deployments;
  }

  /** The request with the directory of the present revision, and valid only after that one. */
  UpRequest allowed(UpRequest request) {
    String name = request.name().orElseThrow();
    List<Revision> revisions = deployments.revisions(name);
    if (revisions.isEmpty()) {
      throw creating(name);
    }
    Revision present = revisions.getLast();
    var fixed =
        new UpRequest(
            request.name(), request.file(), present.directory(), OptionalLong.of(present.number()));
    require(name, deployments.diff(fixed));
    return fixed;
  }

  /** That a change of the deployment is open to such a token, wherever the file is kept. */
  public static void require(String name, DeploymentDiff diff) {
    List<String> closed = new ArrayList<>();
    for (ServiceChange change : diff.changes()) {
      if (change.action() == DeploymentDiff.Action.CREATE
          || change.action() == DeploymentDiff.Action.REMOVE) {
        closed.add(change.service());
      }
      change.fields().stream()
          .filter(field -> !OPEN.contains(field))
          .forEach(field -> closed.add(change.service() + "." + field));
    }
    if (!closed.isEmpty()) {
      throw denied(name, "change " + String.join(", ", closed));
    }
  }

  public static AccessDenied creating(String name) {
    return denied(name, "create it");
  }

  private static AccessDenied denied(String deployment, String what) {
    return AccessDenied.forbidden(
        "the token of deployment '%s' may change %s of its services; to %s, use one with all rights"
            .formatted(deployment, String.join(", ", OPEN.stream().sorted().toList()), what));
  }
}
