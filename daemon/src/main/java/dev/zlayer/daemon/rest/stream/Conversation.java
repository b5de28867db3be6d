package dev.zlayer.daemon.rest.stream;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Signal;
import java.io.IOException;
import java.io.OutputStream;

/** A process that somebody talks to. */
interface Conversation extends AutoCloseable {
  /** Where output goes; a failure means that nobody listens any more. */
  @FunctionalInterface
  interface OutputSink {
    void hear(byte stream, byte[] bytes, int length) throws IOException, InterruptedException;

    /** So many bytes of output were discarded since they were not read in time. */
    default void discarded(long bytes) throws IOException, InterruptedException {}

    /** Output before what comes next is missing, or may be, since the log was rotated. */
    default void gap() throws IOException, InterruptedException {}
  }

  /** Sends all output, from several threads if need be; returns when there is no more. */
  void listen(OutputSink ear) throws IOException, InterruptedException;

  OutputStream stdin();

  void resize(int rows, int columns);

  void signal(Signal signal) throws InterruptedException;

  /** Blocks until it has ended. */
  ExitStatus await() throws InterruptedException;

  @Override
  void close();
}
