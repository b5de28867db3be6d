package dev.zlayer.engine.volume;

import dev.zlayer.container.Mount;
import dev.zlayer.engine.deployment.DeploymentVolumes;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * The named volumes of this machine. One that a container mounts is never removed; one that a
 * deployment's file names only on request. Removing renames first, so that a kill leaves a whole
 * volume or none.
 */
public final class VolumeStore implements DeploymentVolumes {
  private static final Pattern NAME = Pattern.compile("[a-zA-Z0-9][a-zA-Z0-9_.-]{0,199}");

  /** Not a name that a volume can have. */
  private static final String GOING = ".removing-";

  /** What is restored and not complete, and what it replaces. */
  private static final String RESTORING = ".restoring-";

  private static final String REPLACED = ".replaced-";

  private static final Duration SIZE_LIMIT = Duration.ofSeconds(5);

  private final Path directory;
  private final ContainerRuntime runtime;
  private final Supplier<Map<String, Set<String>>> declared;
  private final Object removing = new Object();
  private volatile BoundVolumes bindings = BoundVolumes.NONE;

  private VolumeStore(
      Path directory, ContainerRuntime runtime, Supplier<Map<String, Set<String>>> declared) {
    this.directory = directory;
    this.runtime = runtime;
    this.declared = declared;
  }

  /**
   * Finishes removals that an earlier agent began.
   *
   * @param declared the volumes that the files of deployments name, by deployment
   */
  public static VolumeStore open(
      Path directory, ContainerRuntime runtime, Supplier<Map<String, Set<String>>> declared) {
    var store = new VolumeStore(directory, runtime, declared);
    try {
      PrivateDirectory.directory(directory);
      for (Path half : store.children(GOING + "*")) {
        RootedDirectory.removeTree(half);
      }
      for (Path half : store.children(RESTORING + "*")) {
        RootedDirectory.removeTree(half);
      }
      for (Path old : store.children(REPLACED + "*")) {
        store.endReplacement(old);
      }
      return store;
    } catch (IOException e) {
      throw failed("cannot open the volumes in " + directory, e);
    }
  }

  /** Who is asked before a volume is removed, and told afterwards. */
  public void bound(BoundVolumes bindings) {
    this.bindings = bindings;
  }

  /** Makes an empty volume, which its first container fills; one that exists stays as it is. */
  public VolumeInfo create(String name) {
    requireName(name);
    synchronized (removing) {
      try {
        Files.createDirectories(directory.resolve(name));
      } catch (IOException e) {
        throw failed("cannot create volume " + name, e);
      }
      return known(name);
    }
  }

  private static void requireName(String name) {
    if (!NAME.matcher(name).matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a volume name: use up to 200 letters, digits, dots and hyphens"
              .formatted(name));
    }
  }

  /**
   * Whether a volume may be restored.
   *
   * @throws AgentException.Conflict something is in it that must not be replaced
   */
  public void requireRestorable(String name, boolean replace) {
    requireName(name);
    try {
      Path path = directory.resolve(name);
      if (!replace && Files.exists(path)) {
        try (var entries = Files.newDirectoryStream(path)) {
          if (entries.iterator().hasNext()) {
            throw new AgentException.Conflict(
                "volume '%s' is not empty: choose another name, or --replace".formatted(name));
          }
        }
      }
    } catch (IOException e) {
      throw failed("cannot read volume " + name, e);
    }
  }

  /** An empty directory for what is restored; it is no volume yet. */
  public Path beginRestore(String name) {
    Path half = directory.resolve(RESTORING + name);
    try {
      RootedDirectory.removeTree(half);
      return Files.createDirectory(half);
    } catch (IOException e) {
      throw failed("cannot restore volume " + name, e);
    }
  }

  /** Puts what was restored in the place of the volume; a kill leaves the one or the other. */
  public VolumeInfo finishRestore(String name, boolean replace) {
    synchronized (removing) {
      requireRestorable(name, replace);
      Path path = directory.resolve(name);
      Path old = directory.resolve(REPLACED + name);
      try {
        forgetFilling(name);
        if (Files.exists(path)) {
          Files.move(path, old, StandardCopyOption.ATOMIC_MOVE);
        }
        try {
          Files.move(directory.resolve(RESTORING + name), path, StandardCopyOption.ATOMIC_MOVE);
        } finally {
          if (Files.exists(old)) {
            endReplacement(old);
          }
        }
      } catch (IOException e) {
        throw failed("cannot restore volume " + name, e);
      }
      return known(name);
    }
  }

  /** Files of an image that a killed agent had yet to move into the volume that was there. */
  private void forgetFilling(String name) throws IOException {
    RootedDirectory.removeTree(directory.resolve(DataDir.VOLUME_FILLING + name));
  }

  public void abandonRestore(String name) {
    try {
      RootedDirectory.removeTree(directory.resolve(RESTORING + name));
    } catch (IOException e) {
      throw failed("cannot remove what was restored of volume " + name, e);
    }
  }

  /** The agent was killed while it replaced a volume. */
  private void endReplacement(Path old) throws IOException {
    Path path = directory.resolve(name(old).substring(REPLACED.length()));
    if (Files.exists(path)) {
      RootedDirectory.removeTree(old);
    } else {
      Files.move(old, path, StandardCopyOption.ATOMIC_MOVE);
    }
  }

  /** Without its size. */
  public VolumeInfo find(String name) {
    return known(name);
  }

  /** All of them by name, without sizes. */
  public List<VolumeInfo> list() {
    Map<String, Set<String>> users = users();
    Map<String, Set<String>> deployments = deployments();
    try {
      var all = new ArrayList<VolumeInfo>();
      for (Path path : children("*")) {
        if (NAME.matcher(name(path)).matches()) {
          find(name(path), users, deployments).ifPresent(all::add);
        }
      }
      all.sort(java.util.Comparator.comparing(VolumeInfo::name));
      return all;
    } catch (IOException e) {
      throw failed("cannot list the volumes in " + directory, e);
    }
  }

  /** All of them by name, with sizes as far as they can be added up in a few seconds together. */
  public List<VolumeInfo> listWithSizes() {
    Deadline deadline = Deadline.after(SIZE_LIMIT);
    return list().stream().map(volume -> sized(volume, deadline)).toList();
  }

  /** With its size, as far as it can be added up in a few seconds. */
  public VolumeInfo inspect(String name) {
    return sized(known(name), Deadline.after(SIZE_LIMIT));
  }

  private static VolumeInfo sized(VolumeInfo found, Deadline deadline) {
    try {
      return new VolumeInfo(
          found.name(),
          found.driver(),
          found.path(),
          found.createdAt(),
          found.usedBy(),
          found.deployments(),
          Optional.of(DiskUsage.of(found.path(), deadline)));
    } catch (IOException e) {
      throw failed("cannot inspect volume " + found.name(), e);
    }
  }

  /**
   * Removes a volume with all that is in it. One that is removed already and that a cluster has
   * here still, because the agent was killed in between, is released.
   *
   * @throws AgentException.Conflict a container mounts it; it is named
   */
  public void remove(String name) throws InterruptedException {
    BoundVolumes known = bindings;
    known.requireUnused(name);
    boolean erased = eraseUnused(name);
    boolean released = known.release(name);
    if (!erased && !released) {
      throw unknown(name);
    }
  }

  /** Whether there was one. */
  private boolean eraseUnused(String name) {
    synchronized (removing) {
      Optional<VolumeInfo> volume = find(name, users(), deployments());
      volume.ifPresent(
          found -> {
            if (found.inUse()) {
              throw new AgentException.Conflict(
                  "volume '%s' is used by %s: remove them first"
                      .formatted(name, String.join(", ", found.usedBy())));
            }
            erase(found);
          });
      return volume.isPresent();
    }
  }

  /** What was removed, with sizes: all that no container mounts and no deployment names. */
  public List<VolumeInfo> prune() throws InterruptedException {
    var removed = new ArrayList<VolumeInfo>();
    for (VolumeInfo volume : list()) {
      if (prunable(volume)) {
        VolumeInfo sized = inspect(volume.name());
        if (eraseUnnamed(volume.name())) {
          removed.add(sized);
          boolean _ = bindings.release(volume.name());
        }
      }
    }
    return removed;
  }

  /** Whether no container mounts it, and no deployment names it, here or in a cluster. */
  public boolean prunable(VolumeInfo volume) throws InterruptedException {
    return unnamed(volume) && !bindings.wanted(volume.name());
  }

  private static boolean unnamed(VolumeInfo volume) {
    return !volume.inUse() && volume.deployments().isEmpty();
  }

  /** Whether it is so still, and was erased. */
  private boolean eraseUnnamed(String name) {
    synchronized (removing) {
      Optional<VolumeInfo> volume = find(name, users(), deployments()).filter(VolumeStore::unnamed);
      volume.ifPresent(this::erase);
      return volume.isPresent();
    }
  }

  @Override
  public void remove(String deployment, List<String> names) {
    synchronized (removing) {
      for (String name : new TreeSet<>(names)) {
        Optional<VolumeInfo> volume = find(name, users(), deployments());
        boolean wanted =
            volume.isPresent()
                && (volume.get().inUse()
                    || volume.get().deployments().stream()
                        .anyMatch(one -> !one.equals(deployment)));
        if (volume.isPresent() && !wanted) {
          erase(volume.get());
        }
      }
    }
  }

  private VolumeInfo known(String name) {
    return find(name, users(), deployments()).orElseThrow(() -> unknown(name));
  }

  private static AgentException.NotFound unknown(String name) {
    return new AgentException.NotFound(
        "volume '" + name + "'", "'volume ls' shows those that exist");
  }

  private Optional<VolumeInfo> find(
      String name, Map<String, Set<String>> users, Map<String, Set<String>> deployments) {
    Path path = directory.resolve(name);
    if (!NAME.matcher(name).matches() || !Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          new VolumeInfo(
              name,
              VolumeInfo.LOCAL,
              path,
              Files.readAttributes(path, BasicFileAttributes.class).creationTime().toInstant(),
              List.copyOf(users.getOrDefault(name, new TreeSet<>())),
              List.copyOf(deployments.getOrDefault(name, new TreeSet<>())),
              Optional.empty()));
    } catch (IOException _) {
      return Optional.empty(); // removed while we looked
    }
  }

  private void erase(VolumeInfo volume) {
    Path going = directory.resolve(GOING + volume.name());
    try {
      RootedDirectory.removeLargeTree(going);
      forgetFilling(volume.name());
      Files.move(volume.path(), going, StandardCopyOption.ATOMIC_MOVE);
      RootedDirectory.removeLargeTree(going);
    } catch (IOException e) {
      throw failed("cannot remove volume " + volume.name(), e);
    }
  }

  private Map<String, Set<String>> users() {
    var users = new TreeMap<String, Set<String>>();
    for (Container container : runtime.list()) {
      for (Mount mount : mounts(container)) {
        if (mount instanceof Mount.Named(String name, _, _, _)) {
          users.computeIfAbsent(name, _ -> new TreeSet<>()).add(container.id().toString());
        }
      }
    }
    return users;
  }

  private static List<Mount> mounts(Container container) {
    try {
      return container.inspect().spec().fileSystem().mounts();
    } catch (AgentException.NotFound _) {
      return List.of(); // removed while we looked
    }
  }

  /** The deployments that use a volume of that name, which need not have been made yet. */
  public Set<String> deployments(String volume) {
    return deployments().getOrDefault(volume, Set.of());
  }

  private Map<String, Set<String>> deployments() {
    var owners = new TreeMap<String, Set<String>>();
    declared
        .get()
        .forEach(
            (deployment, names) ->
                names.forEach(
                    name -> owners.computeIfAbsent(name, _ -> new TreeSet<>()).add(deployment)));
    return owners;
  }

  private List<Path> children(String pattern) throws IOException {
    var paths = new ArrayList<Path>();
    try (var files = Files.newDirectoryStream(directory, pattern)) {
      files.forEach(paths::add);
    }
    return paths;
  }

  private static String name(Path path) {
    return String.valueOf(path.getFileName());
  }

  private static AgentException.Configuration failed(String doing, IOException cause) {
    return new AgentException.Configuration(doing + ": " + cause.getMessage(), cause);
  }
}
