package dev.zlayer.container;

import dev.zlayer.json.StoredName;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a container may do to its kernel. The default is the safe one: the usual capability set, the
 * default seccomp profile, no new privileges, masked paths, private namespaces.
 *
 * @param addCapabilities names with or without {@code CAP_}, or {@code ALL}
 * @param seccomp which filter
 * @param privileged all capabilities, all devices, nothing masked
 * @param apparmor a profile that the kernel has loaded, or {@code unconfined}; the default one when
 *     absent
 * @param users whose users it has; as the agent's operator chose when absent
 * @param uts whose host name it has; its own when absent
 * @param deviceRules further devices that it may use once it has made nodes for them, each as a
 *     kind, numbers and rights: {@code c 7:128 rwm}
 */
public record SecuritySpec(
    List<String> addCapabilities,
    List<String> dropCapabilities,
    Seccomp seccomp,
    boolean noNewPrivileges,
    boolean privileged,
    Namespace pid,
    Namespace ipc,
    Map<String, String> sysctls,
    List<Device> devices,
    Optional<String> apparmor,
    Optional<Users> users,
    Optional<Namespace> uts,
    Optional<List<String>> deviceRules) {
  public static final SecuritySpec DEFAULT =
      new SecuritySpec(
          List.of(),
          List.of(),
          new Seccomp.Default(),
          true,
          false,
          new Namespace.Private(),
          new Namespace.Private(),
          Map.of(),
          List.of(),
          Optional.empty(),
          Optional.empty());

  /** With a host name of its own, and no further devices. */
  public SecuritySpec(
      List<String> addCapabilities,
      List<String> dropCapabilities,
      Seccomp seccomp,
      boolean noNewPrivileges,
      boolean privileged,
      Namespace pid,
      Namespace ipc,
      Map<String, String> sysctls,
      List<Device> devices,
      Optional<String> apparmor,
      Optional<Users> users) {
    this(
        addCapabilities,
        dropCapabilities,
        seccomp,
        noNewPrivileges,
        privileged,
        pid,
        ipc,
        sysctls,
        devices,
        apparmor,
        users,
        Optional.empty(),
        Optional.empty());
  }

  /** With the default AppArmor profile, and the users that containers usually have. */
  public SecuritySpec(
      List<String> addCapabilities,
      List<String> dropCapabilities,
      Seccomp seccomp,
      boolean noNewPrivileges,
      boolean privileged,
      Namespace pid,
      Namespace ipc,
      Map<String, String> sysctls,
      List<Device> devices) {
    this(
        addCapabilities,
        dropCapabilities,
        seccomp,
        noNewPrivileges,
        privileged,
        pid,
        ipc,
        sysctls,
        devices,
        Optional.empty(),
        Optional.empty());
  }

  public SecuritySpec {
    addCapabilities = List.copyOf(addCapabilities);
    dropCapabilities = List.copyOf(dropCapabilities);
    sysctls = Map.copyOf(sysctls);
    devices = List.copyOf(devices);
    deviceRules = deviceRules.map(List::copyOf);
  }

  public SecuritySpec withUsers(Users users) {
    return new SecuritySpec(
        addCapabilities,
        dropCapabilities,
        seccomp,
        noNewPrivileges,
        privileged,
        pid,
        ipc,
        sysctls,
        devices,
        apparmor,
        Optional.of(users),
        uts,
        deviceRules);
  }

  /** Whose users a container has; its root is root on the host only with the host's. */
  public enum Users {
    PRIVATE,
    HOST
  }

  /** Which system calls are filtered. */
  public sealed interface Seccomp {
    /** The agent's own profile, or the one that its operator named. */
    @StoredName("Default")
    record Default() implements Seccomp {}

    @StoredName("Unconfined")
    record Unconfined() implements Seccomp {}

    @StoredName("Profile")
    record Profile(Path file) implements Seccomp {}
  }

  /** Whose namespace a container uses. */
  public sealed interface Namespace {
    @StoredName("Private")
    record Private() implements Namespace {}

    @StoredName("Host")
    record Host() implements Namespace {}

    @StoredName("Shared")
    record Shared(ContainerId with) implements Namespace {}
  }

  /**
   * A device node of the host.
   *
   * @param inside its path in the container; the same when absent
   */
  public record Device(
      Path path, boolean read, boolean write, boolean mknod, Optional<String> inside) {
    public Device(Path path, boolean read, boolean write, boolean mknod) {
      this(path, read, write, mknod, Optional.empty());
    }

    /** Where it is in the container. */
    public String target() {
      return inside.orElseGet(path::toString);
    }
  }

  /** The AppArmor profile that an option of {@code security_opt} names, if it is about one. */
  public static Optional<String> apparmor(String option) {
    boolean about = option.startsWith("apparmor=") || option.startsWith("apparmor:");
    return about ? Optional.of(option.substring("apparmor=".length())) : Optional.empty();
  }

  /** The seccomp profile by its name in {@code security_opt}, if it is one. */
  public static Optional<Seccomp> seccomp(String option) {
    if (!option.startsWith("seccomp=") && !option.startsWith("seccomp:")) {
      return Optional.empty();
    }
    String value = option.substring("seccomp=".length());
    return Optional.of(
        value.equals("unconfined")
            ? new Seccomp.Unconfined()
            : new Seccomp.Profile(Path.of(value)));
  }
}
