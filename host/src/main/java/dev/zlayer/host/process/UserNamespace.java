package dev.zlayer.host.process;

import dev.zlayer.container.IdRange;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Namespaces;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A new user namespace, held by a process of its own since one with many threads cannot enter any.
 * It ends with this agent; what was pinned or mounted with it stays.
 */
public final class UserNamespace implements AutoCloseable {
  /**
   * How files are stored that root of the host makes in a mapped mount, until they are given an
   * owner. Without it the kernel would refuse to make them.
   */
  private static final long OF_HOST = 4_294_967_294L;

  /** Says that it is inside, then waits for the end of its input. */
  private static final List<String> WAITING = List.of("sh", "-c", "echo && exec cat");

  private final Process process;

  private UserNamespace(Process process) {
    this.process = process;
  }

  /** For a container, with a network namespace that it owns. */
  public static UserNamespace forContainer(IdRange range) throws IOException {
    return open(List.of("--user", "--net"), line(range));
  }

  /** For mounts that show files on the disk as those of a container. */
  public static UserNamespace forMounts(IdRange range) throws IOException {
    return open(List.of("--user"), line(range) + OF_HOST + " 0 1\n");
  }

  private static String line(IdRange range) {
    return "0 %d %d\n".formatted(range.first(), IdRange.SIZE);
  }

  private static UserNamespace open(List<String> kinds, String lines) throws IOException {
    var arguments = new ArrayList<>(List.of("unshare"));
    arguments.addAll(kinds);
    arguments.addAll(WAITING);
    var opened = new UserNamespace(Processes.start(Command.of(arguments)));
    try {
      if (opened.process.getInputStream().read() < 0) {
        throw new AgentException.Configuration(
            "user namespaces cannot be made on this host: " + opened.error());
      }
      Namespaces.map(opened.process.pid(), lines);
      return opened;
    } catch (IOException | RuntimeException e) {
      opened.close();
      throw e;
    }
  }

  private String error() throws IOException {
    try (var reader =
        new BufferedReader(
            new java.io.InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8))) {
      String line = reader.readLine();
      return line == null ? "unshare failed" : line;
    }
  }

  public Path users() {
    return Namespaces.of(process.pid(), "user");
  }

  public Path network() {
    return Namespaces.of(process.pid(), "net");
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
