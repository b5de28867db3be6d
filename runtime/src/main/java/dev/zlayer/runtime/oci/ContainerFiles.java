package dev.zlayer.runtime.oci;

import dev.zlayer.container.FileChange;
import dev.zlayer.container.PathStat;
import dev.zlayer.error.AgentException;
import dev.zlayer.image.snapshot.Snapshot;
import dev.zlayer.json.Json;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.observe.OverlayChanges;
import dev.zlayer.runtime.observe.RootExport;
import dev.zlayer.runtime.observe.RootFiles;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/** Where the files of one container are found. */
final class ContainerFiles {
  private static final Set<String> MOUNT_POINTS = Set.of("/dev", "/proc", "/sys");

  private final OciContext context;
  private final ContainerState state;

  ContainerFiles(OciContext context, ContainerState state) {
    this.context = context;
    this.state = state;
  }

  /** Something that is done with the files. */
  @FunctionalInterface
  private interface Use<T> {
    T with(RootFiles files) throws InterruptedException;
  }

  /** As it sees them while it runs, else as it would. */
  private <T> T use(Use<T> use) throws InterruptedException {
    if (state.view().now().removed()) {
      throw new AgentException.NotFound("container " + state.record().id(), "it was removed");
    }
    OptionalLong pid = state.record().pid();
    if (pid.isPresent() && state.status().alive()) {
      try {
        return use.with(RootFiles.running(pid.getAsLong(), state.record().ids()));
      } catch (RootFiles.Ended _) {
        // its files remain
      }
    }
    try {
      return use.with(stopped());
    } catch (IOException e) {
      throw cannotRead(e);
    }
  }

  PathStat stat(String path) {
    try {
      return use(files -> files.stat(path));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("mounting the files was interrupted", e);
    }
  }

  void copyOut(String path, OutputStream tar) throws InterruptedException {
    use(
        files -> {
          files.copyOut(path, tar);
          return true;
        });
  }

  void copyIn(String directory, InputStream tar) throws InterruptedException {
    use(
        files -> {
          files.copyIn(directory, tar);
          return true;
        });
  }

  void fill(String directory, InputStream tar) throws InterruptedException {
    use(
        files -> {
          files.fill(directory, tar);
          return true;
        });
  }

  /** The whole root, without what is mounted in it. */
  void export(OutputStream tar) throws InterruptedException {
    try {
      RootExport.whole(root(), state.record().ids(), tar);
    } catch (IOException e) {
      throw cannotRead(e);
    }
  }

  /** What was written over the image, as a layer. */
  void exportChanges(OutputStream layer) throws InterruptedException {
    try {
      RootExport.layer(overlay().upper(), layer);
    } catch (IOException e) {
      throw cannotRead(e);
    }
  }

  private Snapshot overlay() {
    Snapshot snapshot =
        context
            .roots()
            .find(state.name())
            .orElseThrow(() -> new AgentException.Internal("the root file system does not exist"));
    if (snapshot.upper().equals(snapshot.root())) {
      throw new AgentException.Unsupported("changes: not available without overlayfs");
    }
    return snapshot;
  }

  List<FileChange> changes() {
    Snapshot snapshot = overlay();
    List<Path> lowers = snapshot.layers().reversed().stream().map(context.layers()::path).toList();
    try {
      return withoutMountPoints(OverlayChanges.list(snapshot.upper(), lowers));
    } catch (IOException e) {
      throw cannotRead(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("comparing with the image was interrupted", e);
    }
  }

  /** The OCI runtime makes what an image lacks. */
  static List<FileChange> withoutMountPoints(List<FileChange> changes) {
    return changes.stream()
        .filter(
            change ->
                change.kind() != FileChange.Kind.ADDED
                    || !MOUNT_POINTS.contains(change.path())
                    || changes.stream().anyMatch(one -> one.path().startsWith(change.path() + "/")))
        .toList();
  }

  private RootFiles stopped() throws IOException, InterruptedException {
    Json config = new Bundles(context).config(state);
    boolean readOnly = config.at("root").at("readonly").bool().orElse(false);
    return RootFiles.stopped(root(), readOnly, binds(config), state.record().ids());
  }

  /** Where it is mounted, which is done now if it is not. */
  private Path root() throws IOException, InterruptedException {
    Optional<UserMounts> users = UserMounts.of(context, state);
    if (users.isPresent()) {
      users.get().mount(false);
      return users.get().root();
    }
    return context.roots().mount(state.name());
  }

  private static List<RootFiles.Bind> binds(Json config) {
    var binds = new ArrayList<RootFiles.Bind>();
    for (Json mount : config.at("mounts").items()) {
      if (mount.at("type").string().filter("bind"::equals).isPresent()) {
        binds.add(
            new RootFiles.Bind(
                mount.at("destination").string().orElse(""),
                Path.of(mount.at("source").string().orElse("")),
                mount.at("options").strings().contains("ro")));
      }
    }
    return binds;
  }

  private AgentException cannotRead(IOException e) {
    return new AgentException.Internal(
        "cannot read the files of container %s: %s".formatted(state.record().id(), e.getMessage()),
        e);
  }
}
