package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.print.TerminalText;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.tar.TarRenamer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Optional;

/**
 * Carries trees over as tar streams. The names at the top are changed on the way; reading and
 * writing files is left to the machine's {@code tar}, which knows links, owners and sparse files
 * and does not let an archive write outside of its directory.
 */
final class Copying {
  private static final int DIRECTORY = 0040000;
  private static final int TYPE = 0170000;

  private final Session session;
  private final DaemonClient client;
  private final TransferProgress progress;

  Copying(Session session, DaemonClient client, TransferProgress progress) {
    this.session = session;
    this.client = client;
    this.progress = progress;
  }

  void out(CopyTarget.Inside from, CopyTarget.Here to) throws InterruptedException, IOException {
    if (to.stream() && session.terminal()) {
      throw new AgentException.InvalidSpec(
          "cannot write an archive to a terminal; redirect standard output");
    }
    try (HttpResponse archive =
        client.download(from.container().path() + "/archive", Query.of("path", from.path()))) {
      if (to.stream()) {
        progress.counted(archive.body()).transferTo(session.out());
        session.out().flush();
        return;
      }
      Path target = session.resolve(to.path());
      boolean into = Files.isDirectory(target);
      Path directory = into ? target : parent(target);
      if (!Files.isDirectory(directory)) {
        throw new AgentException.NotFound("directory '" + directory + "'", "create it first");
      }
      Optional<String> name =
          into ? Optional.empty() : Optional.of(target.getFileName().toString());
      unpack(progress.counted(archive.body()), directory, name);
    }
  }

  void in(CopyTarget.Here from, CopyTarget.Inside to) throws InterruptedException, IOException {
    if (from.stream()) {
      if (session.keyboard()) {
        throw new AgentException.InvalidSpec("provide the tar archive on standard input");
      }
      put(to, to.path(), progress.counted(session.in()));
      return;
    }
    Path source = session.resolve(from.path()).toAbsolutePath().normalize();
    if (!Files.exists(source)) {
      throw new AgentException.NotFound("file '" + from.path() + "'", "there is no such file");
    }
    String name = source.getFileName() == null ? "." : source.getFileName().toString();
    boolean into = isDirectory(to) || to.path().endsWith("/");
    String path = to.path().replaceAll("/+$", "");
    String directory = into ? path : path.substring(0, Math.max(0, path.lastIndexOf('/')));
    String as = into ? name : path.substring(path.lastIndexOf('/') + 1);
    Process tar =
        Processes.start(
            Command.of("tar", "-C", parent(source).toString(), "-cSf", "-", "--", name));
    tar.getOutputStream().close();
    client.upload(
        "PUT",
        to.container().path() + "/archive",
        Query.of("path", directory.isEmpty() ? "/" : directory),
        DaemonClient.TAR,
        out -> TarRenamer.change(progress.counted(tar.getInputStream()), out, as));
    check(tar, "reading " + from.path());
  }

  private void put(CopyTarget.Inside to, String directory, InputStream tar)
      throws InterruptedException {
    client.upload(
        "PUT",
        to.container().path() + "/archive",
        Query.of("path", directory),
        DaemonClient.TAR,
        tar::transferTo);
  }

  private boolean isDirectory(CopyTarget.Inside place) throws InterruptedException {
    return client
        .header(
            place.container().path() + "/archive", Query.of("path", place.path()), "X-Path-Stat")
        .map(stat -> JsonText.parse(Base64.getDecoder().decode(stat)))
        .flatMap(Copying::mode)
        .map(mode -> (mode & TYPE) == DIRECTORY)
        .orElse(false);
  }

  private static Optional<Integer> mode(Json stat) {
    return stat.at("mode").integer().map(Long::intValue);
  }

  /** Files of a container become those of this user, who need not trust who made them. */
  private void unpack(InputStream archive, Path directory, Optional<String> name)
      throws IOException, InterruptedException {
    Process tar =
        Processes.start(
            Command.of("tar", "-C", directory.toString(), "--no-same-owner", "-xf", "-"));
    try (OutputStream out = tar.getOutputStream()) {
      TarRenamer.disarm(
          archive,
          out,
          name,
          device ->
              session
                  .err()
                  .println("skipped device '%s'".formatted(TerminalText.escapeLine(device))));
    }
    check(tar, "writing to " + directory);
  }

  private static void check(Process tar, String doing) throws IOException, InterruptedException {
    String said = new String(tar.getErrorStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    if (tar.waitFor() != 0) {
      throw new AgentException.InvalidSpec(doing + " failed: " + said);
    }
  }

  private static Path parent(Path path) {
    Path parent = path.toAbsolutePath().normalize().getParent();
    return parent == null ? Path.of("/") : parent;
  }
}
