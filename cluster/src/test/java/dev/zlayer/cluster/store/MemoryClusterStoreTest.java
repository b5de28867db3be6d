package dev.zlayer.cluster.store;

/** The fake does what etcd does. */
class MemoryClusterStoreTest extends ClusterStoreContract {
  private final MemoryClusterStore store = new MemoryClusterStore();

  @Override
  protected ClusterStore store() {
    return store;
  }
}
