package dev.zlayer.daemon.standalone;

/** Keeps a container that is removed after its exit, until this is closed. */
public interface OutputHold extends AutoCloseable {
  @Override
  void close();
}
