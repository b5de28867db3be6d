package dev.zlayer.port;

/** A container whose older output can be dropped; who reads it later is told of the gap. */
public interface LogPruning {
  /** Drops all output but the newest file of it and returns the bytes of disk that this freed. */
  long pruneLogs();
}
