package dev.zlayer.host.process;

import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.host.linux.BootClock;
import dev.zlayer.host.linux.BootId;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.port.Claims;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * How long this node has each of its claims, as files: whoever renews a claim writes until when,
 * and the watchdog of each container reads it. No file, one that has passed and one of an earlier
 * boot are the same: the claim is lost.
 */
public final class ClaimDirectory implements Claims {
  private static final String UNTIL = ".until";
  private static final String WATCHED = ".watched";
  private static final long MILLIS = 1000;

  private final Path directory;

  public ClaimDirectory(Path directory) {
    this.directory = directory;
  }

  /**
   * Has a claim for some time.
   *
   * @param millis of the boot clock; what is left of a second does not count
   * @param time that passes without a renewal before it is lost, for people
   */
  public void extend(String claim, long millis, Duration time) {
    try {
      PrivateDirectory.directory(directory);
      AtomicFile.writeRelaxed(
          until(claim),
          "%d %s %d\n"
              .formatted(millis / MILLIS, BootId.read(), time.toSeconds())
              .getBytes(StandardCharsets.US_ASCII));
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot write the claim %s: %s".formatted(claim, e.getMessage()), e);
    }
  }

  /** Has it no longer: what runs by it ends within a second or two, nothing more starts by it. */
  public void remove(String claim) {
    try {
      Files.deleteIfExists(until(claim));
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot remove the claim %s: %s".formatted(claim, e.getMessage()), e);
    }
  }

  @Override
  public Optional<String> obstacle(String claim) {
    return held(claim).isPresent()
        ? Optional.empty()
        : Optional.of("the claim " + claim + ", by which it runs on one node of the cluster only");
  }

  /** A claim that has not passed: what people are told when it does. */
  private Optional<String> held(String claim) {
    try {
      String[] words = Files.readString(until(claim)).strip().split(" ", -1);
      boolean valid =
          words.length == 3
              && words[1].equals(BootId.read())
              && BootClock.millis() < Long.parseLong(words[0]) * MILLIS;
      return valid
          ? Optional.of("its node lost the cluster for %ss".formatted(words[2]))
          : Optional.empty();
    } catch (IOException | NumberFormatException _) {
      return Optional.empty();
    }
  }

  /**
   * From now on this process ends when the claim is lost, whatever becomes of the agent. To be
   * called while the process still waits for its release.
   *
   * @param container a name that no other container has
   * @param note is written before the process is ended, with the reason
   * @throws AgentException.Unavailable this node does not have the claim
   */
  public void watch(String claim, String container, ProcessIdentity process, Path note)
      throws InterruptedException {
    String reason =
        held(claim)
            .orElseThrow(
                () ->
                    new AgentException.Unavailable(
                        "it cannot start without the claim %s, which this node does not have"
                            .formatted(claim)));
    try {
      Watchdog.start(until(claim), watched(container), note, process, reason);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot start a watchdog: " + String.valueOf(e.getMessage()), e);
    }
    if (held(claim).isEmpty()) {
      throw new AgentException.Unavailable("the claim %s was lost meanwhile".formatted(claim));
    }
  }

  /** Whether a process of this container that is watched has not ended. */
  public boolean runs(String container) {
    try {
      Optional<Watchdog.Watched> known = Watchdog.watched(watched(container));
      return known.isPresent() && known.get().process().alive();
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot check a watchdog: " + String.valueOf(e.getMessage()), e);
    }
  }

  /** Ends processes whose watchdog is gone, which nobody but a person with all rights can do. */
  public void endUnwatched() {
    for (Path record : records()) {
      try {
        Optional<Watchdog.Watched> watched = Watchdog.watched(record);
        if (watched.isPresent() && !watched.get().process().alive()) {
          Files.deleteIfExists(record);
        } else if (watched.isPresent() && !watched.get().watchdog().alive()) {
          boolean _ = watched.get().process().signal(Signal.KILL.number());
        }
      } catch (IOException e) {
        throw new AgentException.Configuration(
            "cannot check a watchdog: " + String.valueOf(e.getMessage()), e);
      }
    }
  }

  private List<Path> records() {
    try (Stream<Path> files = Files.list(directory)) {
      return files.filter(file -> file.toString().endsWith(WATCHED)).toList();
    } catch (NoSuchFileException _) {
      return List.of();
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot read %s: %s".formatted(directory, e.getMessage()), e);
    }
  }

  /** Names of deployments and services have no such sign. */
  private Path until(String claim) {
    return directory.resolve(claim.replace('/', '~') + UNTIL);
  }

  private Path watched(String container) {
    return directory.resolve(container + WATCHED);
  }
}
