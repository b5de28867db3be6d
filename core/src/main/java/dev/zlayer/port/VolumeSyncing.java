package dev.zlayer.port;

/** A container whose volumes have a copy elsewhere that is brought up to date on request. */
public interface VolumeSyncing {
  /** Blocks until what was written before the call is in the copy. */
  void syncVolumes() throws InterruptedException;
}
