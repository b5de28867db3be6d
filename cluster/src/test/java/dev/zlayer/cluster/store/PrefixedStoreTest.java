package dev.zlayer.cluster.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.store.ClusterStore.Entry;
import org.junit.jupiter.api.Test;

/** A part of a store does what a store does. */
class PrefixedStoreTest extends ClusterStoreContract {
  private final MemoryClusterStore whole = new MemoryClusterStore();
  private final PrefixedStore store = new PrefixedStore(whole, "/team-a");

  @Override
  protected ClusterStore store() {
    return store;
  }

  @Test
  void partsDoNotSeeEachOther() throws Exception {
    var other = new PrefixedStore(whole, "/team-b");
    store.put("/zlayer/x", "1", soon());
    other.put("/zlayer/x", "2", soon());

    assertThat(store.list("/zlayer", soon()).entries())
        .extracting(Entry::value)
        .containsExactly("1");
    assertThat(whole.list("/", soon()).entries())
        .extracting(Entry::key)
        .containsExactly("/team-a/zlayer/x", "/team-b/zlayer/x");
  }
}
