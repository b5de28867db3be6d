package dev.zlayer.daemon;

import dev.zlayer.daemon.config.ConfigReader;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Owner;
import dev.zlayer.task.TimeSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A daemon in a process of its own, which a test can kill. Arguments: key=value. With the variable
 * {@code FAULTS}, a part of it dies as often as there are lines in the file of that name.
 */
public final class DaemonProcess {
  private DaemonProcess() {}

  public static void main(String[] arguments) throws Exception {
    Map<String, String> flags = new HashMap<>();
    for (String argument : arguments) {
      String[] parts = argument.split("=", 2);
      flags.put(parts[0], parts[1]);
    }
    String faults = System.getenv("FAULTS");
    var serve = faults == null ? new Serve() : new Serve(agent -> fail(agent, Path.of(faults)));
    Runtime.getRuntime().addShutdownHook(new Thread(serve::stop));
    try {
      serve.run(ConfigReader.read(Optional.empty(), Map.of(), flags), System.getenv(), System.err);
    } catch (AgentException e) {
      System.err.println("zlayer: " + e.getMessage());
      Runtime.getRuntime().halt(1); // as the command line ends, but without waiting for the hook
    }
  }

  private static void fail(Agent agent, Path faults) {
    var deaths = new AtomicInteger();
    Owner.State dying =
        () -> {
          long wanted = Files.exists(faults) ? lines(faults) : 0;
          if (deaths.get() < wanted) {
            throw new IllegalStateException("injected fault " + deaths.incrementAndGet());
          }
          return Duration.ofMillis(20);
        };
    try {
      Owner<Owner.State> _ =
          Owner.of(
                  "faulty part",
                  TimeSource.of(InstantSource.system()),
                  agent.supervisor(),
                  (_, _) -> dying)
              .start();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private static long lines(Path file) {
    try {
      return Files.readAllLines(file).size();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
