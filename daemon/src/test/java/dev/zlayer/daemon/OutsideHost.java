package dev.zlayer.daemon;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.random.RandomGenerator;
import org.awaitility.Awaitility;

/** A network namespace on a cable to this host, in which a server says {@code outside}. */
final class OutsideHost implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final int PORT = 9000;

  private final String name;
  private final String subnet;
  private final int first;
  private Process server;

  private OutsideHost(int number) {
    this.name = "zo%d".formatted(number);
    // one of 16,384 networks, as others may be open beside it
    this.subnet = "198.19.%d.".formatted(number / 64 % 256);
    this.first = number % 64 * 4;
  }

  static OutsideHost open() throws InterruptedException {
    var host = new OutsideHost(RandomGenerator.getDefault().nextInt(100_000));
    try {
      host.connect();
      return host;
    } catch (RuntimeException | AssertionError | InterruptedException e) {
      host.close();
      throw e;
    }
  }

  private void connect() throws InterruptedException {
    run("ip", "netns", "add", name);
    run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name);
    run("ip", "addr", "add", subnet + (first + 1) + "/30", "dev", name);
    run("ip", "link", "set", name, "up");
    run("ip", "-n", name, "addr", "add", address() + "/30", "dev", "eth0");
    run("ip", "-n", name, "link", "set", "eth0", "up");
    run("ip", "-n", name, "link", "set", "lo", "up");
    server =
        Processes.start(
            Command.of(
                "nsenter",
                "--net=/run/netns/" + name,
                "busybox",
                "nc",
                "-ll",
                "-p",
                String.valueOf(PORT),
                "-e",
                "/bin/echo",
                "outside"));
    Awaitility.await().atMost(LIMIT).until(this::answers);
  }

  private boolean answers() throws InterruptedException {
    return Processes.run(
            Command.of("busybox", "nc", "-w", "2", address(), String.valueOf(PORT)),
            Deadline.after(LIMIT))
        .stdout()
        .startsWith("outside");
  }

  String address() {
    return subnet + (first + 2);
  }

  int port() {
    return PORT;
  }

  private static void run(String... words) throws InterruptedException {
    CommandResult result = Processes.run(Command.of(words), Deadline.after(LIMIT));
    if (!result.success()) {
      throw new AssertionError(String.join(" ", words) + ": " + result.stderr());
    }
  }

  @Override
  public void close() throws InterruptedException {
    if (server != null) {
      server.descendants().forEach(ProcessHandle::destroyForcibly);
      server.destroyForcibly();
    }
    Processes.run(Command.of("ip", "netns", "delete", name), Deadline.after(LIMIT));
    Processes.run(Command.of("ip", "link", "delete", name), Deadline.after(LIMIT));
  }
}
