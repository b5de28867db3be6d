package dev.zlayer.bench.engine;

import java.nio.file.Path;
import java.util.List;

/**
 * One way to run containers of the busybox image. Every call returns when the step is done, may
 * come from any thread, and throws when it failed.
 */
public interface Engine extends AutoCloseable {
  /** What sleepers run. */
  List<String> SLEEP = List.of("/bin/sleep", "3600");

  /** What short jobs run. */
  List<String> PRINT_AND_END = List.of("/bin/echo", "done");

  String PRINTED = "done\n";

  String LINE = "0123456789".repeat(7) + "012345678";

  String name();

  /** Creates, starts, waits for the end of and removes a container that runs {@code true}. */
  void runTrue() throws Exception;

  void startSleeper(String name) throws Exception;

  /** Runs {@code true} in a running container and waits for its end. */
  void execTrue(String name) throws Exception;

  /** Ends a container if it runs, and takes everything of it away. */
  void remove(String name) throws Exception;

  /** Has a container print so many bytes in lines of 80; returns when it has ended. */
  void printLog(String name, long bytes) throws Exception;

  /** How many bytes of output are read back. */
  long readLog(String name) throws Exception;

  /** How many containers it says there are. */
  int list() throws Exception;

  /** Reads everything there is to know of one container. */
  void inspect(String name) throws Exception;

  /** Reads once what a container uses. */
  void stats(String name) throws Exception;

  /** Where all its files are. */
  Path home();

  /** MiB of all processes it needs besides those in containers. */
  double memory();

  static List<String> printing(long bytes) {
    return List.of("/bin/sh", "-c", "yes %s | head -c %d".formatted(LINE, bytes));
  }

  @Override
  void close() throws Exception;
}
