package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.deploy.NodeClaims;
import dev.zlayer.container.Claim;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.host.linux.BootClock;
import dev.zlayer.host.process.ClaimDirectory;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;

/** The containers of this node that need a claim, as its cluster uses them. */
final class EngineClaims implements NodeClaims.Node {
  private final ContainerRuntime runtime;
  private final ClaimDirectory claims;

  EngineClaims(ContainerRuntime runtime, ClaimDirectory claims) {
    this.runtime = runtime;
    this.claims = claims;
  }

  @Override
  public long bootMillis() {
    return BootClock.millis();
  }

  @Override
  public void extend(String claim, long untilMillis, Duration stop) {
    claims.extend(claim, untilMillis, stop);
  }

  @Override
  public void remove(String claim) {
    claims.remove(claim);
  }

  /**
   * One that was never started counts, too: it may be about to be. One that has ended and is being
   * started again is still shown as ended when its process has a watchdog already.
   */
  @Override
  public Set<String> present() {
    var present = new HashSet<String>();
    for (Container container : runtime.list()) {
      String claim = container.spec().labels().get(Claim.LABEL);
      if (claim != null
          && (!(container.status() instanceof ContainerStatus.Exited)
              || claims.runs(container.id().runtimeName()))) {
        present.add(claim);
      }
    }
    return present;
  }

  @Override
  public void endUnwatched() {
    claims.endUnwatched();
  }
}
