package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.deploy.VolumeBindings;
import dev.zlayer.engine.volume.BoundVolumes;
import java.util.Optional;
import java.util.function.Supplier;

/** The volumes of this node as its cluster has them, while it is in one. */
record NodeVolumes(Supplier<Optional<VolumeBindings>> cluster) implements BoundVolumes {
  @Override
  public void requireUnused(String volume) throws InterruptedException {
    Optional<VolumeBindings> known = cluster.get();
    if (known.isPresent()) {
      known.get().requireUnused(volume);
    }
  }

  @Override
  public boolean wanted(String volume) throws InterruptedException {
    Optional<VolumeBindings> known = cluster.get();
    return known.isPresent() && known.get().wanted(volume);
  }

  @Override
  public boolean release(String volume) throws InterruptedException {
    Optional<VolumeBindings> known = cluster.get();
    return known.isPresent() && known.get().release(volume);
  }
}
