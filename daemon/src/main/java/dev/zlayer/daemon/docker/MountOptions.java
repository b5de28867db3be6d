package dev.zlayer.daemon.docker;

import dev.zlayer.container.Mount;
import dev.zlayer.json.Json;
import dev.zlayer.port.Container;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What a request wants to be mounted. */
final class MountOptions {
  private static final Pattern VOLUME = Pattern.compile("[a-zA-Z0-9][a-zA-Z0-9_.-]+");
  private static final Set<String> NO_EFFECT =
      Set.of("rw", "z", "Z", "consistent", "cached", "delegated");
  private static final Set<String> TMPFS_ALWAYS = Set.of("rw", "nosuid", "nodev", "noexec");
  private static final long SHARED_MEMORY = 64L << 20;
  private static final int STICKY = 01777;

  private final DockerContainerIndex index;
  private final DockerAllow allow;

  /** By target, so that of two mounts at one place the later, more exact one counts. */
  private final Map<String, Mount> mounts = new LinkedHashMap<>();

  private MountOptions(DockerContainerIndex index, DockerAllow allow) {
    this.index = index;
    this.allow = allow;
  }

  static List<Mount> of(Json.Obj body, DockerContainerIndex index, DockerAllow allow) {
    var options = new MountOptions(index, allow);
    Json host = body.at("HostConfig");
    host.at("VolumesFrom").strings().forEach(options::from);
    body.at("Volumes").members().keySet().forEach(options::anonymous);
    host.at("Binds").strings().forEach(options::bind);
    host.at("Mounts").items().forEach(options::mount);
    host.at("Tmpfs").stringMap().forEach(options::tmpfs);
    String driver = host.at("VolumeDriver").string().orElse("");
    boolean volumes =
        options.mounts.values().stream()
            .anyMatch(mount -> mount instanceof Mount.Named || mount instanceof Mount.Anonymous);
    if (volumes && !Set.of("", "local").contains(driver)) {
      throw DockerError.unsupportedField(
          "HostConfig.VolumeDriver", "volumes are the agent's own, not of '%s'".formatted(driver));
    }
    long shared = host.at("ShmSize").integer().orElse(0L);
    if (shared < 0) {
      throw DockerError.badRequest("SHM size can not be less than 0");
    }
    if (shared > 0 && shared != SHARED_MEMORY) {
      options.add(new Mount.Tmpfs("/dev/shm", OptionalLong.of(shared), OptionalInt.of(STICKY)));
    }
    return new ArrayList<>(options.mounts.values());
  }

  private void add(Mount mount) {
    if (!mount.target().startsWith("/")) {
      throw DockerError.badRequest(
          "invalid mount path: '%s' mount path must be absolute".formatted(mount.target()));
    }
    mounts.put(mount.target(), mount);
  }

  private void anonymous(String target) {
    if (target.contains(":")) {
      bind(target); // as clients of an old kind write binds
    } else {
      add(new Mount.Anonymous(target));
    }
  }

  /** {@code SOURCE:TARGET[:OPTIONS]}, or a target alone. */
  private void bind(String text) {
    String[] parts = text.split(":", -1);
    if (parts.length == 1) {
      add(new Mount.Anonymous(text));
      return;
    }
    if (parts.length > 3 || parts[0].isEmpty() || parts[1].isEmpty()) {
      throw DockerError.badRequest("invalid volume specification: '%s'".formatted(text));
    }
    boolean readOnly = false;
    Optional<Mount.Propagation> propagation = Optional.empty();
    for (String option : parts.length == 3 ? parts[2].split(",", -1) : new String[0]) {
      if (option.equals("ro")) {
        readOnly = true;
      } else if (parts[0].startsWith("/") && propagation(option).isPresent()) {
        propagation = propagation(option);
      } else if (!option.isEmpty() && !NO_EFFECT.contains(option)) {
        throw DockerError.unsupportedField(
            "HostConfig.Binds", "option '%s' of '%s'".formatted(option, text));
      }
    }
    if (parts[0].startsWith("/")) {
      hostPath(parts[0], true);
      add(new Mount.Bind(Path.of(parts[0]), parts[1], readOnly, propagation));
    } else {
      add(new Mount.Named(volume(parts[0]), parts[1], readOnly));
    }
  }

  private static Optional<Mount.Propagation> propagation(String word) {
    return Arrays.stream(Mount.Propagation.values())
        .filter(each -> each.word().equals(word))
        .findFirst();
  }

  private static String volume(String name) {
    if (!VOLUME.matcher(name).matches()) {
      throw DockerError.badRequest(
          ("create %s: \"%s\" includes invalid characters for a local volume name, only"
                  + " \"[a-zA-Z0-9][a-zA-Z0-9_.-]\" are allowed. If you intended to pass a host"
                  + " directory, use absolute path")
              .formatted(name, name));
    }
    return name;
  }

  private void hostPath(String source, boolean make) {
    allow.requireHostMounts();
    Path path = Path.of(source);
    if (Files.exists(path)) {
      return;
    }
    if (!make) {
      throw DockerError.badRequest(
          "invalid mount config for type \"bind\": bind source path does not exist: " + source);
    }
    try {
      Files.createDirectories(path);
    } catch (IOException e) {
      throw DockerError.failed(
          "error while creating mount source path '%s': %s".formatted(source, e.getMessage()));
    }
  }

  private void mount(Json mount) {
    String type = mount.at("Type").string().orElse("");
    String source = mount.at("Source").string().orElse("");
    String target =
        mount.at("Target").string().or(() -> mount.at("Destination").string()).orElse("");
    if (target.isEmpty()) {
      throw DockerError.badRequest("invalid mount config: field Target must not be empty");
    }
    boolean readOnly = mount.at("ReadOnly").bool().orElse(false);
    switch (type) {
      case "bind" -> {
        Json options = mount.at("BindOptions");
        refuse(
            options,
            "Mounts.BindOptions",
            Set.of("CreateMountpoint"),
            Arrays.stream(Mount.Propagation.values())
                .map(Mount.Propagation::word)
                .collect(Collectors.toSet()));
        if (!source.startsWith("/")) {
          throw DockerError.badRequest(
              "invalid mount config for type \"bind\": invalid mount path: '%s' mount path must be absolute"
                  .formatted(source));
        }
        hostPath(source, options.at("CreateMountpoint").bool().orElse(false));
        Optional<Mount.Propagation> propagation =
            options.at("Propagation").string().flatMap(MountOptions::propagation);
        add(new Mount.Bind(Path.of(source), target, readOnly, propagation));
      }
      case "volume" -> {
        Json options = mount.at("VolumeOptions");
        Json driver = options.at("DriverConfig");
        refuse(driver, "Mounts.VolumeOptions.DriverConfig", Set.of(), Set.of("local"));
        refuse(
            options, "Mounts.VolumeOptions", Set.of("Labels", "DriverConfig", "Subpath"), Set.of());
        Optional<String> subpath =
            options.at("Subpath").string().filter(part -> !part.isEmpty()).map(MountOptions::part);
        if (source.isEmpty() && subpath.isPresent()) {
          throw DockerError.badRequest(
              "invalid mount config for type \"volume\": must not set Subpath when using anonymous"
                  + " volumes");
        }
        add(
            source.isEmpty()
                ? new Mount.Anonymous(target)
                : new Mount.Named(volume(source), target, readOnly, subpath));
      }
      case "tmpfs" -> {
        Json options = mount.at("TmpfsOptions");
        refuse(options, "Mounts.TmpfsOptions", Set.of("SizeBytes", "Mode"), Set.of());
        long mode = options.at("Mode").integer().orElse(0L);
        long size = options.at("SizeBytes").integer().orElse(0L);
        add(
            new Mount.Tmpfs(
                target,
                size > 0 ? OptionalLong.of(size) : OptionalLong.empty(),
                mode > 0 ? OptionalInt.of((int) mode) : OptionalInt.empty()));
      }
      default ->
          throw DockerError.unsupportedField(
              "HostConfig.Mounts", "type '%s', only bind, volume and tmpfs".formatted(type));
    }
  }

  private static String part(String subpath) {
    boolean outside =
        subpath.indexOf('\0') >= 0
            || subpath.startsWith("/")
            || Path.of("/", subpath).normalize().getNameCount() == 0
            || Path.of(subpath).normalize().startsWith("..");
    if (outside) {
      throw DockerError.badRequest("subpath must be a relative path within the volume");
    }
    return subpath;
  }

  /** Everything but what is honoured or as good as the default. */
  private static void refuse(Json options, String path, Set<String> honoured, Set<String> values) {
    options
        .members()
        .forEach(
            (name, value) -> {
              boolean fine =
                  honoured.contains(name)
                      || CreateFields.zero(value)
                      || value.string().filter(values::contains).isPresent();
              if (!fine) {
                throw DockerError.unsupportedField("HostConfig." + path, name);
              }
            });
  }

  private void tmpfs(String target, String text) {
    OptionalLong size = OptionalLong.empty();
    OptionalInt mode = OptionalInt.empty();
    for (String option : text.split(",", -1)) {
      if (option.startsWith("size=")) {
        size = OptionalLong.of(HostOptions.bytes(option.substring(5)));
      } else if (option.startsWith("mode=")) {
        mode = OptionalInt.of(octal(option.substring(5)));
      } else if (!option.isEmpty() && !TMPFS_ALWAYS.contains(option)) {
        throw DockerError.unsupportedField(
            "HostConfig.Tmpfs", "option '%s' of %s".formatted(option, target));
      }
    }
    add(new Mount.Tmpfs(target, size, mode));
  }

  private static int octal(String text) {
    try {
      return Integer.parseInt(text, 8);
    } catch (NumberFormatException _) {
      throw DockerError.badRequest("'%s' is not a mode, write one such as 1777".formatted(text));
    }
  }

  /** The mounts of another container; what is removed with it cannot be shared. */
  private void from(String reference) {
    String[] parts = reference.split(":", 2);
    boolean readOnly = parts.length == 2 && parts[1].equals("ro");
    if (parts.length == 2 && !parts[1].equals("ro") && !parts[1].equals("rw")) {
      throw DockerError.badRequest("invalid mode for volumes-from: " + parts[1]);
    }
    Container other = index.enter(parts[0]);
    for (Mount mount : other.spec().fileSystem().mounts()) {
      switch (mount) {
        case Mount.Bind bind -> {
          allow.requireHostMounts();
          add(
              new Mount.Bind(
                  bind.source(), bind.target(), readOnly || bind.readOnly(), bind.propagation()));
        }
        case Mount.Named named ->
            add(
                new Mount.Named(
                    named.name(), named.target(), readOnly || named.readOnly(), named.subpath()));
        case Mount.Anonymous _, Mount.Supplied _ ->
            throw DockerError.unsupportedField(
                "HostConfig.VolumesFrom",
                "%s of %s is removed with it, give the volume a name"
                    .formatted(mount.target(), parts[0]));
        case Mount.Tmpfs _ -> {
          // memory is not shared
        }
      }
    }
  }
}
