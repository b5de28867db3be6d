package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.cluster.deploy.ClusterDeployments;
import dev.zlayer.cluster.deploy.ClusterState;
import dev.zlayer.cluster.deploy.Desired;
import dev.zlayer.cluster.deploy.StateWatch;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The state for one who waits for something in it: read once, so that it has what the caller has
 * just changed, and then as this node follows it. When that shows nothing new for a while, it is
 * read again, since it may not be able to.
 */
final class FollowedState {
  private static final Duration STEP = Duration.ofSeconds(1);
  private static final Duration AGAIN = Duration.ofSeconds(10);

  private final ClusterDeployments deployments;
  private final StateWatch.View view;
  private ClusterState state;
  private Deadline again = Deadline.after(AGAIN);
  private @Nullable Version version;

  /** What is read of a deployment once for each of its revisions. */
  private record Version(Desired desired, DeploymentSpec spec, String directory) {
    static Version read(ClusterDeployments deployments, Desired desired)
        throws InterruptedException {
      List<Desired.File> files = deployments.files(desired.name());
      String directory =
          files.stream()
              .filter(file -> file.number() == desired.revision())
              .map(Desired.File::directory)
              .findFirst()
              .orElse("/");
      return new Version(desired, deployments.spec(desired), directory);
    }

    boolean of(Desired other) {
      return desired.name().equals(other.name()) && desired.revision() == other.revision();
    }
  }

  FollowedState(ClusterDeployments deployments, StateWatch.View view) throws InterruptedException {
    this.deployments = deployments;
    this.view = view;
    this.state = deployments.state();
  }

  ClusterState state() {
    return state;
  }

  /** Returns when it has changed, or after a moment. */
  void pause(Deadline deadline) throws InterruptedException {
    Optional<ClusterState> next = view.after(state.revision(), deadline.atMost(STEP));
    if (next.isPresent() || again.passed()) {
      state = next.isPresent() ? next.get() : deployments.state();
      again = Deadline.after(AGAIN);
    }
  }

  /** Empty when there is none. */
  Optional<ClusterStatus> status(String name) throws InterruptedException {
    Desired desired = state.desired().get(name);
    if (desired == null) {
      return Optional.empty();
    }
    Version known = version;
    if (known == null || !known.of(desired)) {
      try {
        known = Version.read(deployments, desired);
      } catch (AgentException.NotFound _) {
        return Optional.empty(); // what is followed is some moments old
      }
      version = known;
    }
    return Optional.of(ClusterStatus.of(state, desired, known.spec(), known.directory()));
  }

  static ClusterStatus status(ClusterDeployments deployments, ClusterState state, Desired desired)
      throws InterruptedException {
    Version read = Version.read(deployments, desired);
    return ClusterStatus.of(state, desired, read.spec(), read.directory());
  }
}
