package dev.zlayer.port;

/** A container whose own standard streams can be joined while it runs. */
public interface Attachable {
  /** Output from now on; closing detaches and leaves the container running. */
  ExecSession attach() throws InterruptedException;
}
