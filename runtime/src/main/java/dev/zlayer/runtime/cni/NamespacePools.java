package dev.zlayer.runtime.cni;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A pool for the default network from the start, and one for every network that is joined again and
 * again: a deployment with jobs gets namespaces that are ready, one with a few services does not
 * keep any for nothing.
 */
final class NamespacePools {
  /** Joins of a network after which the next ones are prepared. */
  private static final int OFTEN = 6;

  /** Makes slots in phase ready on a network. */
  @FunctionalInterface
  interface Maker {
    List<PreparedNamespace> make(String network, int count) throws InterruptedException;
  }

  private final NetworkConfig config;
  private final Maker maker;
  private final NamespacePreparer slots;
  private final Map<String, NamespacePool> pools = new HashMap<>();
  private final Map<String, Integer> joins = new HashMap<>();

  /** A pool size of 0 prepares none. */
  NamespacePools(NetworkConfig config, Maker maker, NamespacePreparer slots) {
    this.config = config;
    this.maker = maker;
    this.slots = slots;
  }

  /** Begins to fill that of the default network. */
  synchronized void fill() {
    if (config.poolSize() > 0) {
      pools.computeIfAbsent(NamedNetwork.DEFAULT, this::pool);
    }
  }

  /** A slot that is ready now, or none; never waits for one to be made. */
  synchronized Optional<PreparedNamespace> take(String network) {
    NamespacePool pool = pools.get(network);
    if (pool == null && config.poolSize() > 0 && joins.merge(network, 1, Integer::sum) > OFTEN) {
      pools.put(network, pool(network));
    }
    return pool == null ? Optional.empty() : pool.take();
  }

  synchronized int size() {
    return pools.values().stream().mapToInt(NamespacePool::size).sum();
  }

  /** Takes down what is prepared on a network that goes away. */
  void close(String network) throws InterruptedException {
    NamespacePool pool;
    synchronized (this) {
      joins.remove(network);
      pool = pools.remove(network);
    }
    if (pool != null) {
      pool.close();
    }
  }

  void close() throws InterruptedException {
    Map<String, NamespacePool> all;
    synchronized (this) {
      all = Map.copyOf(pools);
      pools.clear();
    }
    for (NamespacePool pool : all.values()) {
      pool.close();
    }
  }

  private NamespacePool pool(String network) {
    return new NamespacePool(
        config.poolSize(), config.poolLull(), count -> maker.make(network, count), slots);
  }
}
