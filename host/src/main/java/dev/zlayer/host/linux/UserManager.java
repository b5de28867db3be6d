package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The systemd of one ordinary user, which has control groups to give.
 *
 * @param number of the user
 * @param groups whether the host has control groups of version 2
 * @param booted whether systemd runs this host
 * @param running whether that of the user runs now
 * @param lingering whether it runs also while the user is not logged in
 * @param controllers of control groups that it was given
 */
public record UserManager(
    long number,
    boolean groups,
    boolean booted,
    boolean running,
    boolean lingering,
    Set<String> controllers) {
  private static final List<String> EXPECTED = List.of("cpu", "memory", "pids");

  public UserManager {
    controllers = Set.copyOf(controllers);
  }

  /** Something that containers of this user have to do without, and how that is changed. */
  public record Lack(String what, String remedy) {}

  /** That of the user of this process, or of whoever has the namespaces that it is in. */
  public static UserManager read(String user) {
    return read(Path.of("/"), user, UserNamespaces.owner());
  }

  static UserManager read(Path root, String user, long number) {
    Path groups = root.resolve("sys/fs/cgroup");
    return new UserManager(
        number,
        Files.exists(groups.resolve("cgroup.controllers")),
        Files.isDirectory(root.resolve("run/systemd/system")),
        Files.exists(root.resolve("run/user/" + number + "/systemd/private")),
        Files.exists(root.resolve("var/lib/systemd/linger").resolve(user)),
        words(Path.of(groups + service(number)).resolve("cgroup.controllers")));
  }

  /** Where its sockets are. */
  public Path directory() {
    return Path.of("/run/user", Long.toString(number));
  }

  /** Whether a control group is one of this manager, and ends with it. */
  public boolean owns(String group) {
    return group.startsWith(service(number) + "/");
  }

  /** The path of a scope that it was asked for. */
  public String scope(String name) {
    return service(number) + "/app.slice/" + name;
  }

  /** Whether it can give control groups to what is in that one. */
  public boolean gives(String group) {
    return groups && running && !controllers.isEmpty() && (owns(group) || lingering);
  }

  /** Whether containers keep running without their user. */
  public Optional<Lack> staying(String user) {
    return booted && !lingering
        ? Optional.of(
            new Lack(
                "containers may end when %s logs out".formatted(user),
                "loginctl enable-linger " + user))
        : Optional.empty();
  }

  /** Why an agent of this user cannot limit what containers use. */
  public Optional<Lack> limits(String user) {
    if (!groups) {
      return Optional.of(
          new Lack(
              "limits of containers are refused: this host has no control groups of version 2",
              "boot with systemd.unified_cgroup_hierarchy=1"));
    }
    if (!booted) {
      return Optional.of(
          new Lack(
              "limits of containers are refused unless the agent is started in a control group"
                  + " that belongs to %s: no systemd gives any".formatted(user),
              "boot with systemd"));
    }
    if (!running) {
      return Optional.of(
          new Lack(
              "limits of containers are refused: systemd runs no manager for " + user,
              "as root, 'loginctl enable-linger %s', or log in by ssh or a console"
                  .formatted(user)));
    }
    List<String> missing = EXPECTED.stream().filter(name -> !controllers.contains(name)).toList();
    if (!missing.isEmpty()) {
      return Optional.of(
          new Lack(
              "limits of %s are refused: the host does not give these controllers to %s"
                  .formatted(String.join(", ", missing), user),
              "as root, write '[Service]' and 'Delegate=cpu memory pids' into"
                  + " /etc/systemd/system/user@.service.d/delegate.conf and restart"));
    }
    return lingering
        ? Optional.empty()
        : Optional.of(
            new Lack(
                "limits of containers are refused unless the agent runs as a unit of " + user,
                "loginctl enable-linger %s, or 'systemctl --user start zlayer'".formatted(user)));
  }

  private static String service(long number) {
    return "/user.slice/user-%1$d.slice/user@%1$d.service".formatted(number);
  }

  private static Set<String> words(Path file) {
    try {
      String text = Files.readString(file).strip();
      return text.isEmpty() ? Set.of() : Set.of(text.split(" ", -1));
    } catch (IOException _) {
      return Set.of(); // it runs not, or has none
    }
  }
}
