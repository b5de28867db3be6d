package dev.zlayer.runtime.oci;

import dev.zlayer.container.IdRange;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.host.linux.BindMount;
import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.IdMapping;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.host.linux.Namespaces;
import dev.zlayer.host.process.UserNamespace;
import dev.zlayer.image.snapshot.Snapshot;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.oci.config.BundleInput;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * All that a container with users of its own is given: its user namespace, its root file system and
 * whatever is bound into it, each mounted in a directory that only the container's root can pass
 * through. The rest of the agent's directories is closed to its users.
 *
 * <p>Layers and volumes are on the disk as those of any container are; the mounts here show them as
 * owned by this one's users.
 */
final class UserMounts {
  /** Version 1 was the list alone. */
  static final StoredFormat FORMAT =
      StoredFormat.unmarked("the list of mounts", UnaryOperator.identity());

  private static final String LIST = "mounts";
  private static final String ROOT = "root";
  private static final String USERS = "users";
  private static final String SHARED_MEMORY = "shm";
  private static final String COPIES = "copies";

  private final OciContext context;
  private final ContainerState state;
  private final IdRange ids;
  private final Path directory;

  private UserMounts(OciContext context, ContainerState state, IdRange ids) {
    this.context = context;
    this.state = state;
    this.ids = ids;
    this.directory = context.dirs().userMounts().resolve(state.name());
  }

  /** Of a container that has users of its own. */
  static Optional<UserMounts> of(OciContext context, ContainerState state) {
    return state.record().ids().map(ids -> new UserMounts(context, state, ids));
  }

  /** One mount: where it is, of what, and whose the owners on the disk are. */
  record Entry(String name, Path source, boolean own) {
    Json json() {
      return Json.object()
          .put("name", name)
          .put("source", source.toString())
          .put("own", own)
          .build();
    }

    static Entry of(Json json) {
      return new Entry(
          json.at("name").string().orElseThrow(),
          Path.of(json.at("source").string().orElseThrow()),
          json.at("own").bool().orElse(false));
    }
  }

  Path root() {
    return directory.resolve(ROOT);
  }

  /** The number that its root has on the host. */
  long owner() {
    return ids.first();
  }

  Path sharedMemory() {
    return directory.resolve(SHARED_MEMORY);
  }

  BundleInput.Users users() {
    return new BundleInput.Users(ids, directory.resolve(USERS));
  }

  /** Whether the namespace is there, and not for example lost with the machine. */
  boolean pinned() {
    return Namespaces.alive(users().namespace());
  }

  /** Makes the user namespace; in what is returned is a network namespace that belongs to it. */
  UserNamespace pin() throws IOException {
    makeDirectory();
    Namespaces.delete(users().namespace());
    UserNamespace made = UserNamespace.forContainer(ids);
    try {
      Namespaces.pin(made.users(), users().namespace());
      return made;
    } catch (IOException | RuntimeException e) {
      made.close();
      throw e;
    }
  }

  /** Uses the namespace of another container. */
  void join(UserMounts other) throws IOException {
    makeDirectory();
    Namespaces.delete(users().namespace());
    Namespaces.pin(other.users().namespace(), users().namespace());
  }

  /** Notes what is to be mounted and says where it will be; nothing is mounted yet. */
  List<BundleInput.Bind> plan(List<BundleInput.Bind> binds, Path sharedMemory) throws IOException {
    var entries = new ArrayList<Entry>();
    var planned = new ArrayList<BundleInput.Bind>();
    entries.add(new Entry(SHARED_MEMORY, sharedMemory, false));
    for (BundleInput.Bind bind : binds) {
      if (!bind.propagation().isPrivate()) {
        throw new AgentException.InvalidSpec(
            "%s cannot be mounted %s: a container with users of its own has private mounts; write userns_mode: host"
                .formatted(bind.source(), bind.propagation().word()));
      }
      // a file of the agent itself is meant for this container
      boolean own = bind.own() || bind.source().startsWith(context.dirs().secretFiles());
      var entry = new Entry(Integer.toString(entries.size()), bind.source(), own);
      entries.add(entry);
      planned.add(bind.from(directory.resolve(entry.name()), restrictions(bind)));
    }
    for (Entry entry : entries) {
      makePlace(entry);
    }
    AtomicFile.writeRelaxed(state.directory().userMounts(), JsonText.bytes(json(entries)));
    return planned;
  }

  private static List<String> restrictions(BundleInput.Bind bind) throws IOException {
    return bind.own() ? List.of() : Mounts.restrictions(bind.source());
  }

  /** Shows the root as the container's from now on; whoever made it had it as it is on the disk. */
  void handOver() throws IOException, InterruptedException {
    context.roots().get(state.name()).unmount();
    mount(true);
  }

  /**
   * Mounts what is not.
   *
   * @param complete fails when something is absent that was to be mounted
   */
  void mount(boolean complete) throws IOException, InterruptedException {
    try (var _ = context.locks().lock("mounts of " + state.name())) {
      makeDirectory();
      Files.createDirectories(state.directory().run());
      SharedMemory.mount(state);
      Files.createDirectories(root());
      var missing = new ArrayList<Entry>();
      for (Entry entry : entries()) {
        if (!Mounts.mounted(directory.resolve(entry.name())) && (complete || exists(entry))) {
          makePlace(entry);
          missing.add(entry);
        }
      }
      if (missing.isEmpty() && Mounts.mounted(root())) {
        return;
      }
      try (var namespace = UserNamespace.forMounts(ids);
          var mapping = IdMapping.open(namespace.users())) {
        mountRoot(mapping);
        for (Entry entry : missing) {
          mount(entry, mapping);
        }
      } catch (ErrnoException e) {
        if (e.errno() == ErrnoException.EINVAL || e.errno() == ErrnoException.ENOSYS) {
          throw unsupported(e);
        }
        throw e;
      }
    }
  }

  private static AgentException unsupported(ErrnoException e) {
    return new AgentException.Unsupported(
        "users of its own: this kernel or file system has no idmapped mounts (%s); write userns_mode: host"
            .formatted(e.getMessage()));
  }

  private void mountRoot(IdMapping mapping) throws IOException {
    Snapshot snapshot = context.roots().get(state.name());
    snapshot.mount(Optional.of(mapping));
    if (!Mounts.mounted(root())) {
      boolean copy = snapshot.upper().equals(snapshot.root());
      BindMount.attach(
          snapshot.root(), root(), copy ? Optional.of(mapping) : Optional.<IdMapping>empty());
    }
  }

  private void mount(Entry entry, IdMapping mapping) throws IOException {
    Path place = directory.resolve(entry.name());
    if (!entry.own()) {
      BindMount.attach(entry.source(), place, Optional.empty());
      return;
    }
    try {
      BindMount.attach(entry.source(), place, Optional.of(mapping));
    } catch (ErrnoException e) {
      // memory has no idmapped mounts before 6.3; files of the agent in memory are small
      boolean memory = entry.source().startsWith(context.dirs().secretFiles());
      if (!memory || e.errno() != ErrnoException.EINVAL) {
        throw e;
      }
      BindMount.attach(copy(entry), place, Optional.empty());
    }
  }

  private Path copy(Entry entry) throws IOException {
    Path copies = directory.resolve(COPIES);
    Files.createDirectories(copies);
    if (!Mounts.mounted(copies)) {
      Mounts.tmpfs(copies, "mode=0700");
    }
    Path copy = copies.resolve(entry.name());
    PrivateDirectory.file(copy);
    Files.write(copy, Files.readAllBytes(entry.source()));
    for (String kind : List.of("unix:uid", "unix:gid")) {
      long inside = ((Number) Files.getAttribute(entry.source(), kind)).longValue();
      Files.setAttribute(copy, kind, (int) ids.outside(inside));
    }
    Files.setAttribute(copy, "unix:mode", Files.getAttribute(entry.source(), "unix:mode"));
    return copy;
  }

  private List<Entry> entries() throws IOException {
    return read(state.directory().userMounts());
  }

  static Json json(List<Entry> entries) {
    return FORMAT.begin().put(LIST, entries.stream().map(Entry::json).toList()).build();
  }

  static List<Entry> read(Path file) throws IOException {
    try {
      Json stored = JsonText.parse(Files.readAllBytes(file));
      Json marked = stored instanceof Json.Arr ? Json.object().put(LIST, stored).build() : stored;
      return FORMAT.upgrade(marked, file).at(LIST).items().stream().map(Entry::of).toList();
    } catch (AgentException.InvalidSpec | InvalidPathException | NoSuchElementException e) {
      throw new IOException(
          "%s is damaged: %s; remove the container and create it again"
              .formatted(file, e.getMessage()),
          e);
    }
  }

  private static boolean exists(Entry entry) {
    return Files.exists(entry.source());
  }

  private void makePlace(Entry entry) throws IOException {
    if (!exists(entry)) {
      throw new NoSuchFileException(entry.source() + " cannot be mounted: it does not exist");
    }
    Path place = directory.resolve(entry.name());
    if (Files.isDirectory(entry.source())) {
      Files.createDirectories(place);
    } else {
      PrivateDirectory.file(place);
    }
  }

  /** Open to the root of the container alone. */
  private void makeDirectory() throws IOException {
    PrivateDirectory.passable(context.dirs().userMounts());
    Files.createDirectories(directory);
    Files.setAttribute(directory, "unix:gid", (int) ids.first());
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx--x---"));
  }

  /** Of any container, also one of which nothing else is known; absent is fine. */
  static void remove(OciContext context, String container) throws IOException {
    Path directory = context.dirs().userMounts().resolve(container);
    if (!Files.isDirectory(directory)) {
      return;
    }
    List<Path> places;
    try (var listed = Files.list(directory)) {
      places = listed.toList();
    }
    for (Path place : places) {
      while (Mounts.mounted(place)) {
        Mounts.detach(place);
      }
      Files.delete(place); // never more than a place to mount on
    }
    Files.delete(directory);
  }
}
