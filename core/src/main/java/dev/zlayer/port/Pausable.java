package dev.zlayer.port;

/** A container whose processes can be frozen and thawed; both are idempotent. */
public interface Pausable {
  void pause() throws InterruptedException;

  void unpause() throws InterruptedException;
}
