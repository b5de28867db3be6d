package dev.zlayer.daemon.docker;

import dev.zlayer.container.FileChange;
import dev.zlayer.container.PathStat;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.error.AgentException;
import dev.zlayer.image.layer.Decompression;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.Archivable;
import dev.zlayer.port.Container;
import dev.zlayer.port.Exportable;
import dev.zlayer.port.ProcessListing;
import dev.zlayer.tar.TarRenamer;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What is inside containers: files, changes, processes. */
final class DockerFiles implements Resource {
  private static final String STAT = "X-Docker-Container-Path-Stat";

  /** Written for every container; clients know them as mounts, which are no changes. */
  private static final Set<String> OWN_FILES =
      Set.of("/etc/hostname", "/etc/hosts", "/etc/resolv.conf");

  private static final int PIPE = 64 << 10;

  private final DockerContainerIndex index;
  private final RecentEvents events;

  DockerFiles(DockerContainerIndex index, RecentEvents events) {
    this.index = index;
    this.events = events;
  }

  @Override
  public String title() {
    return "Inside containers";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.get("/containers/{name}/top", "List its processes.", this::top),
        Route.get("/containers/{name}/changes", "List changes against its image.", this::changes),
        Route.get("/containers/{name}/export", "Export its root file system.", this::export),
        Route.head("/containers/{name}/archive", "Show what is at a path.", this::stat),
        Route.get("/containers/{name}/archive", "Copy files out.", this::copyOut),
        Route.put("/containers/{name}/archive", "Copy files in.", this::copyIn));
  }

  private Container container(ApiRequest call) {
    return index.find(call.path("name"));
  }

  private Container entered(ApiRequest call) {
    return index.enter(call.path("name"));
  }

  private static <T> T power(Container container, Class<T> power, String done) {
    if (power.isInstance(container)) {
      return power.cast(container);
    }
    throw new AgentException.Unsupported(
        "containers of runtime '%s' cannot be %s".formatted(container.inspect().runtime(), done));
  }

  private ApiResponse top(ApiRequest call) {
    Container container = container(call);
    String args = DockerQuery.text(call, "ps_args").orElse("-ef");
    if (!Set.of("-ef", "ef", "-e -f").contains(args.strip())) {
      throw DockerError.badRequest(
          "ps_args is not supported: '%s', only the columns of -ef are known".formatted(args));
    }
    if (!container.status().alive()) {
      throw DockerError.conflict(
          "container %s is not running".formatted(DockerContainerIndex.id(container)));
    }
    var table = power(container, ProcessListing.class, "looked into").processes();
    events.record(container, "top", Map.of());
    return ApiResponse.json(
        Json.object().put("Titles", table.titles()).put("Processes", table.rows()).build());
  }

  private ApiResponse changes(ApiRequest call) {
    List<FileChange> all =
        power(container(call), Archivable.class, "compared with their image").changes().stream()
            .filter(change -> !OWN_FILES.contains(change.path()))
            .toList();
    boolean others = all.stream().anyMatch(change -> change.path().startsWith("/etc/"));
    List<Json> changes =
        all.stream()
            .filter(change -> others || !change.path().equals("/etc"))
            .<Json>map(
                change ->
                    Json.object()
                        .put("Path", change.path())
                        .put("Kind", kind(change.kind()))
                        .build())
            .toList();
    return ApiResponse.json(changes.isEmpty() ? Json.Null.INSTANCE : Json.of(changes));
  }

  private static int kind(FileChange.Kind kind) {
    return switch (kind) {
      case MODIFIED -> 0;
      case ADDED -> 1;
      case DELETED -> 2;
    };
  }

  private ApiResponse export(ApiRequest call) {
    Container container = entered(call);
    Exportable root = power(container, Exportable.class, "exported");
    events.record(container, "export", Map.of());
    return new ApiResponse.Bytes("application/octet-stream", Map.of(), root::export);
  }

  private static String path(ApiRequest call) {
    String path =
        DockerQuery.text(call, "path")
            .orElseThrow(() -> DockerError.badRequest("bad parameter: 'path' cannot be empty"));
    return path.startsWith("/") ? path : "/" + path; // paths begin at the root
  }

  private PathStat stat(Archivable files, ApiRequest call, String path) {
    try {
      return files.stat(path);
    } catch (AgentException.NotFound _) {
      throw DockerError.notFound(
          "Could not find the file %s in container %s".formatted(path, call.path("name")));
    }
  }

  private ApiResponse stat(ApiRequest call) {
    Archivable files = power(entered(call), Archivable.class, "copied from or to");
    return new ApiResponse.Whole(
        200, "", new byte[0], Map.of(STAT, header(stat(files, call, path(call)))));
  }

  private ApiResponse copyOut(ApiRequest call) {
    Container container = entered(call);
    Archivable files = power(container, Archivable.class, "copied from or to");
    String path = path(call);
    String stat = header(stat(files, call, path));
    events.record(container, "archive-path", Map.of());
    return new ApiResponse.Bytes(
        ApiRequest.TAR,
        Map.of(STAT, stat),
        out -> {
          if (path.endsWith("/.")) {
            contentOnly(files, path, out);
          } else {
            files.copyOut(path, out);
          }
        });
  }

  /** What is in a directory, without the name of the directory. */
  private static void contentOnly(Archivable files, String path, OutputStream out)
      throws IOException, InterruptedException {
    var archive = new PipedInputStream(PIPE);
    try (var scope = new TaskScope("copy")) {
      var writer = new PipedOutputStream(archive);
      scope.fork(
          () -> {
            try (writer) {
              files.copyOut(path, writer);
            }
            return true;
          });
      TarRenamer.change(archive, out, ".");
      scope.join();
    }
  }

  private static String header(PathStat stat) {
    return Base64.getEncoder()
        .encodeToString(
            JsonText.bytes(
                Json.object()
                    .put("name", stat.name())
                    .put("size", stat.size())
                    .put("mode", mode(stat.mode()))
                    .put("mtime", stat.modified().toString())
                    .put("linkTarget", stat.linkTarget().orElse(""))
                    .build()));
  }

  /** The bits of Go, which clients read. */
  static long mode(int mode) {
    long bits = mode & 0777;
    bits |= (mode & 04000) != 0 ? 1L << 23 : 0;
    bits |= (mode & 02000) != 0 ? 1L << 22 : 0;
    bits |= (mode & 01000) != 0 ? 1L << 20 : 0;
    return bits
        | switch (mode & 0170000) {
          case 0040000 -> 1L << 31;
          case 0120000 -> 1L << 27;
          case 0060000 -> 1L << 26;
          case 0020000 -> 1L << 26 | 1L << 21;
          case 0010000 -> 1L << 25;
          case 0140000 -> 1L << 24;
          default -> 0;
        };
  }

  private ApiResponse copyIn(ApiRequest call) throws InterruptedException {
    Container container = entered(call);
    Archivable files = power(container, Archivable.class, "copied from or to");
    String path = path(call);
    PathStat target = stat(files, call, path);
    boolean directory = (target.mode() & 0170000) == 0040000;
    boolean link = (target.mode() & 0170000) == 0120000;
    if (!directory && !link) {
      throw DockerError.badRequest("extraction point is not a directory");
    }
    // clients may send it compressed without saying so
    try (InputStream plain = Decompression.open(call.body())) {
      files.copyIn(path, plain);
    } catch (IOException e) {
      throw DockerError.badRequest("the archive cannot be read: " + e.getMessage());
    }
    events.record(container, "extract-to-dir", Map.of());
    return new ApiResponse.Whole(200, "", new byte[0], Map.of());
  }
}
