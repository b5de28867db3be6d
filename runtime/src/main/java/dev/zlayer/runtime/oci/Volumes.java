package dev.zlayer.runtime.oci;

import dev.zlayer.container.Mount;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.linux.BindMount;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.linux.RootedFiles;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.runtime.oci.config.BundleConfig;
import dev.zlayer.runtime.oci.config.BundleInput;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.KeyedLock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Directories that outlive a root file system. A new volume appears whole: it is filled under
 * another name and renamed, so a crash leaves nothing half filled. A volume that exists keeps its
 * directory for as long as it exists, since containers may have it mounted.
 */
public final class Volumes {
  private static final Duration COPY_LIMIT = Duration.ofMinutes(10);

  /** Not a name that a volume can have. */
  private static final String ANONYMOUS = ".anonymous";

  private static final String FILLING = ".new-";

  /** Content that is copied whole and not yet moved into an existing volume. */
  private static final String COMPLETE = DataDir.VOLUME_FILLING;

  private final Path directory;
  private final KeyedLock<String> locks = new KeyedLock<>();

  Volumes(Path directory) {
    this.directory = directory;
  }

  /** Makes the volumes a container wants and tells what to mount; tmpfs is not among it. */
  List<BundleInput.Bind> prepare(
      ContainerDir place,
      String container,
      List<Mount> mounts,
      List<String> imageVolumes,
      Path root)
      throws IOException, InterruptedException {
    var binds = new ArrayList<BundleInput.Bind>();
    int anonymous = 0;
    int parts = 0;
    for (Mount mount : withImageVolumes(mounts, imageVolumes)) {
      String target = BundleConfig.mountTarget(mount.target());
      switch (mount) {
        case Mount.Bind(var source, _, var readOnly, var propagation) ->
            binds.add(
                new BundleInput.Bind(existing(source), target, readOnly)
                    .with(propagation.orElse(Mount.Propagation.RPRIVATE)));
        case Mount.Named(var name, _, var readOnly, var subpath) -> {
          Path volume = named(name, root, target);
          if (subpath.isPresent()) {
            volume = place.subpath(parts++);
            mount(name, subpath.get(), volume);
          }
          binds.add(new BundleInput.Bind(volume, target, readOnly, true));
        }
        case Mount.Anonymous _ -> {
          Path volume = own(container, anonymous++);
          if (!Files.exists(volume)) {
            fill(volume, root, target);
          }
          binds.add(new BundleInput.Bind(volume, target, false, true));
        }
        case Mount.Supplied(_, var readOnly) -> {
          Path volume = own(container, anonymous++);
          Files.createDirectories(volume);
          // only this container sees it, and its user may be anyone
          Files.setPosixFilePermissions(volume, EnumSet.allOf(PosixFilePermission.class));
          binds.add(new BundleInput.Bind(volume, target, readOnly, true));
        }
        case Mount.Tmpfs _ -> {}
      }
    }
    return binds;
  }

  /**
   * Mounts the parts of volumes that a container has mounted, where they are not: by a path,
   * another container could lead the OCI runtime elsewhere through a link in the volume.
   */
  void mountSubpaths(ContainerDir place, List<Mount> mounts) throws IOException {
    int parts = 0;
    for (Mount mount : mounts) {
      if (mount instanceof Mount.Named(var name, _, _, var subpath) && subpath.isPresent()) {
        mount(name, subpath.get(), place.subpath(parts++));
      }
    }
  }

  private void mount(String name, String subpath, Path target) throws IOException {
    if (!Mounts.mounted(target)
        && !BindMount.attachWithin(directory.resolve(name), subpath, target)) {
      throw new AgentException.InvalidSpec(
          "volume %s has no %s; create it in the volume first".formatted(name, subpath));
    }
  }

  /** Absent is fine. */
  static void unmountSubpaths(ContainerDir place) throws IOException {
    for (int part = 0; Files.exists(place.subpath(part)); part++) {
      while (Mounts.mounted(place.subpath(part))) {
        Mounts.detach(place.subpath(part));
      }
    }
  }

  /** Throws InvalidSpec for what is not there, and as {@link #checkNames} does. */
  static void check(List<Mount> mounts) {
    checkNames(mounts);
    for (Mount mount : mounts) {
      if (mount instanceof Mount.Bind(var source, _, _, var propagation)) {
        existing(source);
        propagation.ifPresent(wanted -> checkPropagation(source, wanted));
      }
    }
  }

  /** A mount that is private on the host stays so, whatever is said about it inside. */
  private static void checkPropagation(Path source, Mount.Propagation wanted) {
    if (wanted.isPrivate()) {
      return;
    }
    try {
      Mounts.MountPoint mount = Mounts.of(source);
      if (!mount.shared() && (wanted.isShared() || !mount.slave())) {
        throw new AgentException.InvalidSpec(
            "path %s is mounted on %s but it is not a shared%s mount"
                .formatted(source, mount.target(), wanted.isShared() ? "" : " or slave"));
      }
    } catch (IOException e) {
      throw new AgentException.InvalidSpec(
          "%s cannot be mounted: %s".formatted(source, e.getMessage()), e);
    }
  }

  /** Throws InvalidSpec for targets that are no paths, or that two mounts share. */
  public static void checkNames(List<Mount> mounts) {
    var targets = new HashSet<String>();
    for (Mount mount : mounts) {
      if (!targets.add(BundleConfig.mountTarget(mount.target()))) {
        throw new AgentException.InvalidSpec(
            "two mounts have the target '%s'".formatted(mount.target()));
      }
      if (mount instanceof Mount.Named(var name, _, _, _)
          && !name.matches("[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}")) {
        throw new AgentException.InvalidSpec(
            "'%s' is not a volume name: use up to 128 letters, digits, dots and hyphens"
                .formatted(name));
      }
    }
  }

  /** Where a named volume is, or would be. */
  Path directory(String name) {
    return directory.resolve(name);
  }

  /** Removes the anonymous volumes of a container; absent is fine. */
  void removeAnonymous(String container) throws IOException {
    RootedDirectory.removeTree(directory.resolve(ANONYMOUS).resolve(container));
  }

  private Path own(String container, int number) {
    return directory.resolve(ANONYMOUS).resolve(container).resolve("" + number);
  }

  /** With an anonymous volume wherever the image wants one and the mounts have none. */
  public static List<Mount> withImageVolumes(List<Mount> mounts, List<String> imageVolumes) {
    var all = new ArrayList<>(mounts);
    for (String volume : imageVolumes) {
      String target = BundleConfig.mountTarget(volume);
      if (mounts.stream()
          .noneMatch(mount -> BundleConfig.mountTarget(mount.target()).equals(target))) {
        all.add(new Mount.Anonymous(target));
      }
    }
    return all;
  }

  private static Path existing(Path source) {
    if (!source.isAbsolute() || !Files.exists(source)) {
      throw new AgentException.InvalidSpec(
          "%s cannot be mounted: there is no such file or directory; create it first, or name a volume"
              .formatted(source));
    }
    return source;
  }

  /**
   * A volume that exists may be mounted, so its directory is never replaced: an empty one is filled
   * in place.
   */
  private Path named(String name, Path root, String target)
      throws IOException, InterruptedException {
    Path volume = directory.resolve(name);
    Path complete = directory.resolve(COMPLETE + name);
    try (var _ = locks.lock(name)) {
      if (!Files.exists(volume)) {
        RootedDirectory.removeTree(complete);
        fill(volume, root, target);
      } else if (Files.exists(complete)) {
        moveInto(complete, volume);
      } else if (empty(volume)) {
        Optional<Path> content = content(root, target);
        if (content.isPresent() && !empty(content.get())) {
          Files.move(fixture(volume, content), complete, StandardCopyOption.ATOMIC_MOVE);
          moveInto(complete, volume);
        }
      }
    }
    return volume;
  }

  /** Can be interrupted anywhere and done again; what a container wrote meanwhile is kept. */
  private static void moveInto(Path complete, Path volume) throws IOException {
    for (String attribute : List.of("unix:uid", "unix:gid", "unix:mode")) {
      Files.setAttribute(volume, attribute, Files.getAttribute(complete, attribute));
    }
    for (Path entry : entries(complete)) {
      Path moved = volume.resolve(String.valueOf(entry.getFileName()));
      if (!Files.exists(moved, LinkOption.NOFOLLOW_LINKS)) {
        Files.move(entry, moved, StandardCopyOption.ATOMIC_MOVE);
      }
    }
    RootedDirectory.removeTree(complete);
  }

  private static boolean empty(Path directory) throws IOException {
    return entries(directory).isEmpty();
  }

  private static List<Path> entries(Path directory) throws IOException {
    try (var entries = Files.list(directory)) {
      return entries.toList();
    }
  }

  private static Optional<Path> content(Path root, String target) throws IOException {
    return RootedFiles.resolve(root, target).filter(Files::isDirectory);
  }

  /** Makes a volume that does not exist yet. */
  private static void fill(Path volume, Path root, String target)
      throws IOException, InterruptedException {
    Files.move(fixture(volume, content(root, target)), volume, StandardCopyOption.ATOMIC_MOVE);
  }

  /** Copies what the image has at the target, owner, mode and all, beside the volume. */
  private static Path fixture(Path volume, Optional<Path> content)
      throws IOException, InterruptedException {
    Path parent = Objects.requireNonNull(volume.getParent(), "volumes are never the root");
    Files.createDirectories(parent);
    Path filling = parent.resolve(FILLING + volume.getFileName());
    RootedDirectory.removeTree(filling);
    if (content.isPresent()) {
      copy(content.get(), filling);
    } else {
      Files.createDirectory(filling);
    }
    return filling;
  }

  private static void copy(Path from, Path to) throws InterruptedException {
    Command command =
        Command.of("cp", "--archive", "--no-target-directory", "--", from + "", to + "");
    CommandResult result = Processes.run(command, Deadline.after(COPY_LIMIT));
    if (!result.success()) {
      throw new AgentException.Internal(
          "cannot fill the volume %s: %s".formatted(to, result.lastLine()));
    }
  }
}
