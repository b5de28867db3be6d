package dev.zlayer.engine.state;

class MemoryStateStoreTest extends StateStoreContract {
  @Override
  StateStore open(StoreConfig config) {
    return new MemoryStateStore(config);
  }
}
