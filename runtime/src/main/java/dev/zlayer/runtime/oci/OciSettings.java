package dev.zlayer.runtime.oci;

import dev.zlayer.host.linux.NvidiaDriver;
import dev.zlayer.runtime.oci.tool.OciTools;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * What the operator can set.
 *
 * @param toolLimit bounds every single call of the OCI runtime and conmon
 * @param killLimit how long to wait for death after SIGKILL
 * @param nameServers whom containers ask that name nobody
 * @param cdiDirectories where specs of devices such as GPUs are, later ones win
 * @param driverRoot below which the files of a GPU driver are found
 * @param seccompProfile a profile for all containers that do not name one, instead of the default
 * @param users which containers have users of their own, and how many there are
 * @param volumeSync copies a named volume elsewhere, called with its name and its directory
 */
public record OciSettings(
    OciTools.Choice tools,
    Duration toolLimit,
    Duration killLimit,
    NameServers nameServers,
    List<Path> cdiDirectories,
    Path driverRoot,
    Optional<Path> volumeSync,
    Optional<Path> seccompProfile,
    UserIds.Pool users) {
  /**
   * Where name servers are found.
   *
   * @param resolvConf those of this host
   * @param resolvedConf those that systemd-resolved asks, used where it listens on loopback alone
   * @param own whether a server of ours answers at the gateway of every network
   */
  public record NameServers(Path resolvConf, Path resolvedConf, boolean own) {
    public static final NameServers OF_HOST =
        new NameServers(
            Path.of("/etc/resolv.conf"), Path.of("/run/systemd/resolve/resolv.conf"), false);

    /** The same, and ours where the host has none that containers reach. */
    public static final NameServers WITH_OWN =
        new NameServers(OF_HOST.resolvConf(), OF_HOST.resolvedConf(), true);
  }

  public static final OciSettings DEFAULT =
      new OciSettings(
          OciTools.Choice.AUTOMATIC,
          Duration.ofSeconds(30),
          Duration.ofSeconds(10),
          NameServers.OF_HOST,
          List.of(Path.of("/etc/cdi"), Path.of("/var/run/cdi")),
          NvidiaDriver.USUAL_ROOT,
          Optional.empty(),
          Optional.empty(),
          UserIds.Pool.DEFAULT);

  public OciSettings {
    cdiDirectories = List.copyOf(cdiDirectories);
  }

  public OciSettings withTools(OciTools.Choice tools) {
    return new OciSettings(
        tools,
        toolLimit,
        killLimit,
        nameServers,
        cdiDirectories,
        driverRoot,
        volumeSync,
        seccompProfile,
        users);
  }

  public OciSettings withGpus(List<Path> cdiDirectories, Path driverRoot) {
    return new OciSettings(
        tools,
        toolLimit,
        killLimit,
        nameServers,
        cdiDirectories,
        driverRoot,
        volumeSync,
        seccompProfile,
        users);
  }

  public OciSettings withVolumeSync(Path program) {
    return new OciSettings(
        tools,
        toolLimit,
        killLimit,
        nameServers,
        cdiDirectories,
        driverRoot,
        Optional.of(program),
        seccompProfile,
        users);
  }

  public OciSettings withToolLimit(Duration toolLimit) {
    return new OciSettings(
        tools,
        toolLimit,
        killLimit,
        nameServers,
        cdiDirectories,
        driverRoot,
        volumeSync,
        seccompProfile,
        users);
  }

  public OciSettings withSeccompProfile(Optional<Path> seccompProfile) {
    return new OciSettings(
        tools,
        toolLimit,
        killLimit,
        nameServers,
        cdiDirectories,
        driverRoot,
        volumeSync,
        seccompProfile,
        users);
  }

  public OciSettings withNameServers(NameServers nameServers) {
    return new OciSettings(
        tools,
        toolLimit,
        killLimit,
        nameServers,
        cdiDirectories,
        driverRoot,
        volumeSync,
        seccompProfile,
        users);
  }

  public OciSettings withUsers(UserIds.Pool users) {
    return new OciSettings(
        tools,
        toolLimit,
        killLimit,
        nameServers,
        cdiDirectories,
        driverRoot,
        volumeSync,
        seccompProfile,
        users);
  }
}
