package dev.zlayer.runtime.oci.tool;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.AppArmor;
import dev.zlayer.host.linux.UserNamespaces;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * The default AppArmor profile of containers.
 *
 * @param name of the profile; empty when containers are not confined by one
 * @param problem why there is none, or why it could not be loaded: then containers are refused
 */
public record AppArmorProfile(Optional<String> name, Optional<String> problem) {
  /** Of the profile that comes with the agent. */
  public static final String DEFAULT = "zlayer-default";

  private static final Duration LIMIT = Duration.ofMinutes(2);

  /**
   * Loads the default profile, replacing that of an earlier agent. Containers run without one where
   * the kernel has no AppArmor or the host has no program to load it, as with Docker. One that is
   * refused or not loaded in time is still the profile: that of an earlier agent may be there.
   *
   * @param directory for the text of the profile
   * @param parser the program that loads profiles
   */
  static AppArmorProfile load(Path directory, Optional<Path> parser) throws InterruptedException {
    if (!AppArmor.enabled()) {
      return without("the kernel does not use AppArmor");
    }
    if (UserNamespaces.inside()) {
      return without("only root of the host loads profiles");
    }
    if (parser.isEmpty()) {
      return AppArmor.loaded(DEFAULT)
          ? new AppArmorProfile(Optional.of(DEFAULT), Optional.empty())
          : without("apparmor_parser is missing: apt install apparmor");
    }
    try {
      Path file = Files.writeString(directory.resolve(DEFAULT), text());
      CommandResult result =
          Processes.run(
              Command.of(parser.get().toString(), "--replace", "--skip-cache", file.toString()),
              Deadline.after(LIMIT));
      if (!result.success()) {
        return notLoaded("apparmor_parser refuses the profile: " + result.lastLine());
      }
      return new AppArmorProfile(Optional.of(DEFAULT), Optional.empty());
    } catch (IOException | AgentException e) {
      return notLoaded("the profile cannot be loaded: " + e.getMessage());
    }
  }

  /** Whether containers that name no profile are confined. */
  public boolean inForce() {
    return name.isPresent() && (problem.isEmpty() || AppArmor.loaded(name.get()));
  }

  private static AppArmorProfile notLoaded(String problem) {
    return new AppArmorProfile(Optional.of(DEFAULT), Optional.of(problem));
  }

  private static AppArmorProfile without(String problem) {
    return new AppArmorProfile(Optional.empty(), Optional.of(problem));
  }

  static String text() {
    try (InputStream in =
        Objects.requireNonNull(AppArmorProfile.class.getResourceAsStream(DEFAULT))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new AgentException.Internal("the AppArmor profile is not readable", e);
    }
  }
}
