package dev.zlayer.daemon.docker;

import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Every field of a request that makes a container, and what becomes of it. A field that is not
 * honoured is refused when it asks for anything but the default; one that is not listed is refused
 * as well. The reference in {@code docs/docker.md} is made from this list.
 */
public final class CreateFields {
  /** What becomes of a field. */
  public enum Support {
    /** It has its effect. */
    HONOURED,
    /** It changes nothing here, and is shown again by inspect. */
    RECORDED,
    /** Only its default is accepted. */
    REFUSED
  }

  /**
   * One field.
   *
   * @param section {@code Config}, which is the body itself, or {@code HostConfig}
   * @param accepted values that are as good as the default
   */
  public record Field(
      String section, String name, Support support, String note, List<String> accepted) {
    public Field {
      accepted = List.copyOf(accepted);
    }
  }

  private static final String CONFIG = "Config";
  private static final String HOST = "HostConfig";

  private static final List<Field> FIELDS =
      List.of(
          honoured(CONFIG, "Hostname", "the first 12 digits of the id when absent"),
          refused(CONFIG, "Domainname", "write a full name into Hostname"),
          honoured(CONFIG, "User", ""),
          recorded(CONFIG, "AttachStdin", ""),
          recorded(CONFIG, "AttachStdout", ""),
          recorded(CONFIG, "AttachStderr", ""),
          honoured(CONFIG, "ExposedPorts", "published with PublishAllPorts"),
          honoured(CONFIG, "Tty", ""),
          honoured(CONFIG, "OpenStdin", ""),
          honoured(CONFIG, "StdinOnce", "input ends with its first client in any case, unless Tty"),
          honoured(CONFIG, "Env", "a name without a value removes nothing and is left out"),
          honoured(CONFIG, "Cmd", ""),
          honoured(CONFIG, "Healthcheck", "what it leaves out is the image's"),
          refused(CONFIG, "ArgsEscaped", "it is for Windows"),
          honoured(CONFIG, "Image", "a name, a digest or an id"),
          honoured(CONFIG, "Volumes", "volumes that are removed with the container"),
          honoured(CONFIG, "WorkingDir", ""),
          honoured(CONFIG, "Entrypoint", ""),
          honoured(CONFIG, "NetworkDisabled", "as NetworkMode none"),
          honoured(CONFIG, "MacAddress", "of the interface on the first network"),
          refused(CONFIG, "OnBuild", "it belongs to images"),
          honoured(CONFIG, "Labels", ""),
          honoured(CONFIG, "StopSignal", ""),
          honoured(CONFIG, "StopTimeout", ""),
          refused(CONFIG, "Shell", "it belongs to images"),
          refused(
              CONFIG,
              "Runtime",
              "it belongs to HostConfig",
              "runc",
              "crun",
              "io.containerd.runc.v2"),
          recorded(CONFIG, "name", "the query says it; some clients send it twice"),
          recorded(CONFIG, "Dns", "it belongs to HostConfig: no effect here, as in dockerd"),
          recorded(
              CONFIG, "VolumesFrom", "it belongs to HostConfig: no effect here, as in dockerd"),
          honoured(CONFIG, "HostConfig", "see below"),
          honoured(
              CONFIG,
              "NetworkingConfig",
              "EndpointsConfig for any number of networks, with the fields of EndpointConfig of"
                  + " POST /networks/{id}/connect"),
          honoured(
              HOST,
              "Binds",
              "options ro, rw and those of propagation; z and Z change nothing without SELinux"),
          recorded(HOST, "ContainerIDFile", "clients write it"),
          honoured(
              HOST,
              "LogConfig",
              "json-file or local, with max-size and max-file; none, whose output only attached"
                  + " clients get"),
          honoured(HOST, "NetworkMode", ""),
          honoured(HOST, "PortBindings", "tcp and udp"),
          honoured(HOST, "RestartPolicy", ""),
          honoured(HOST, "AutoRemove", ""),
          honoured(
              HOST,
              "VolumeDriver",
              "refused for a container with volumes unless it is local: volumes are the agent's"
                  + " own"),
          honoured(HOST, "VolumesFrom", "binds and named volumes"),
          honoured(HOST, "ConsoleSize", ""),
          honoured(
              HOST,
              "Annotations",
              "but those that are settings of an OCI runtime: `run.oci.`, `org.systemd.property.`,"
                  + " `org.criu.`"),
          honoured(HOST, "CapAdd", ""),
          honoured(HOST, "CapDrop", ""),
          refused(HOST, "CgroupnsMode", "the namespace is private", "private"),
          honoured(HOST, "Dns", ""),
          refused(HOST, "DnsOptions", "resolv.conf has none"),
          honoured(HOST, "DnsSearch", ""),
          honoured(HOST, "ExtraHosts", ""),
          honoured(HOST, "GroupAdd", ""),
          honoured(HOST, "IpcMode", "private, shareable, host or container:NAME"),
          refused(HOST, "Cgroup", "use CgroupParent"),
          honoured(
              HOST,
              "Links",
              "on bridge as hosts and variables that stay as they are when the container is made,"
                  + " on other networks as names"),
          honoured(HOST, "OomScoreAdj", ""),
          honoured(HOST, "PidMode", "host or container:NAME"),
          honoured(HOST, "Privileged", ""),
          honoured(HOST, "PublishAllPorts", ""),
          honoured(HOST, "ReadonlyRootfs", ""),
          honoured(HOST, "SecurityOpt", "no-new-privileges, seccomp, apparmor, label=disable"),
          refused(HOST, "StorageOpt", "root file systems have no size of their own"),
          honoured(HOST, "Tmpfs", "size and mode; always nosuid, nodev and noexec"),
          honoured(HOST, "UTSMode", "host"),
          honoured(HOST, "UsernsMode", "host"),
          honoured(HOST, "ShmSize", ""),
          honoured(HOST, "Sysctls", ""),
          refused(HOST, "Runtime", "the agent chooses", "runc", "crun", "io.containerd.runc.v2"),
          refused(HOST, "Isolation", "it is for Windows", "default"),
          honoured(HOST, "CpuShares", ""),
          honoured(HOST, "Memory", ""),
          honoured(HOST, "NanoCpus", ""),
          honoured(HOST, "CgroupParent", ""),
          honoured(HOST, "BlkioWeight", ""),
          refused(HOST, "BlkioWeightDevice", "only the weight of all devices can be set"),
          refused(HOST, "BlkioDeviceReadBps", "devices have no limits of their own"),
          refused(HOST, "BlkioDeviceWriteBps", "devices have no limits of their own"),
          refused(HOST, "BlkioDeviceReadIOps", "devices have no limits of their own"),
          refused(HOST, "BlkioDeviceWriteIOps", "devices have no limits of their own"),
          honoured(HOST, "CpuPeriod", "with CpuQuota"),
          honoured(HOST, "CpuQuota", ""),
          refused(HOST, "CpuRealtimePeriod", "real-time scheduling is not limited"),
          refused(HOST, "CpuRealtimeRuntime", "real-time scheduling is not limited"),
          honoured(HOST, "CpusetCpus", ""),
          honoured(HOST, "CpusetMems", "only all nodes of this host, such as 0"),
          honoured(HOST, "Devices", ""),
          honoured(HOST, "DeviceCgroupRules", ""),
          honoured(HOST, "DeviceRequests", "GPUs by number, all, or by name; CDI devices of a GPU"),
          refused(HOST, "KernelMemory", "the kernel has no such limit any more"),
          refused(HOST, "KernelMemoryTCP", "the kernel has no such limit any more"),
          honoured(HOST, "MemoryReservation", ""),
          honoured(HOST, "MemorySwap", ""),
          honoured(HOST, "MemorySwappiness", "-1 is the default"),
          honoured(HOST, "OomKillDisable", ""),
          honoured(HOST, "PidsLimit", "4096 when absent"),
          honoured(HOST, "Ulimits", ""),
          refused(HOST, "CpuCount", "it is for Windows"),
          refused(HOST, "CpuPercent", "it is for Windows"),
          refused(HOST, "IOMaximumIOps", "it is for Windows"),
          refused(HOST, "IOMaximumBandwidth", "it is for Windows"),
          honoured(HOST, "Mounts", "bind with Propagation, volume with Subpath, and tmpfs"),
          refused(HOST, "MaskedPaths", "the usual paths are masked, all of them with Privileged"),
          refused(HOST, "ReadonlyPaths", "the usual paths are read-only, unless Privileged"),
          honoured(HOST, "Init", ""));

  private CreateFields() {}

  /** All of them, in the order of the reference. */
  public static List<Field> all() {
    return FIELDS;
  }

  private static Field honoured(String section, String name, String note) {
    return new Field(section, name, Support.HONOURED, note, List.of());
  }

  private static Field recorded(String section, String name, String note) {
    return new Field(section, name, Support.RECORDED, note, List.of());
  }

  private static Field refused(String section, String name, String note, String... accepted) {
    return new Field(section, name, Support.REFUSED, note, List.of(accepted));
  }

  /** The body with the names as they are listed, whatever case a client writes, once checked. */
  static Json.Obj checked(Json body) {
    Json.Obj config = section(CONFIG, body);
    var members = new LinkedHashMap<>(config.members());
    members.put(HOST, section(HOST, config.at(HOST)));
    return new Json.Obj(members);
  }

  /** The fields of {@code HostConfig} that a change of a container may have. */
  static Json.Obj checkedHost(Json host) {
    return section(HOST, host);
  }

  private static Json.Obj section(String section, Json given) {
    Map<String, Field> known = new LinkedHashMap<>();
    for (Field field : FIELDS) {
      if (field.section().equals(section)) {
        known.put(field.name().toLowerCase(Locale.ROOT), field);
      }
    }
    var members = new LinkedHashMap<String, Json>();
    var refusals = new ArrayList<String>();
    given
        .members()
        .forEach(
            (name, value) -> {
              Field field = known.get(name.toLowerCase(Locale.ROOT));
              if (field == null) {
                if (!zero(value)) {
                  refusals.add("%s.%s is not supported: it is unknown".formatted(section, name));
                }
              } else if (field.support() == Support.REFUSED && !defaultOf(field, value)) {
                refusals.add(
                    "%s.%s is not supported: %s".formatted(section, field.name(), field.note()));
              } else {
                members.put(field.name(), value);
              }
            });
    if (!refusals.isEmpty()) {
      throw DockerError.badRequest(String.join("; ", refusals));
    }
    return new Json.Obj(members);
  }

  private static boolean defaultOf(Field field, Json value) {
    return zero(value) || value.string().filter(field.accepted()::contains).isPresent();
  }

  /** Whether a value says nothing. */
  static boolean zero(Json value) {
    return switch (value) {
      case Json.Null _ -> true;
      case Json.Bool(boolean yes) -> !yes;
      case Json.Num number -> number.decimal().signum() == 0;
      case Json.Str(String text) -> text.isEmpty();
      case Json.Arr(var items) -> items.isEmpty();
      case Json.Obj(var members) -> members.values().stream().allMatch(CreateFields::zero);
    };
  }
}
