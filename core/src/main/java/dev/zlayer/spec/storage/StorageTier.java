package dev.zlayer.spec.storage;

/** What kind of disk a volume should lie on. */
public enum StorageTier {
  LOCAL,
  CACHED,
  NETWORK
}
