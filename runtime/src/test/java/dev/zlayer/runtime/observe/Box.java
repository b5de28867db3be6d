package dev.zlayer.runtime.observe;

import static org.awaitility.Awaitility.await;

import dev.zlayer.container.LogSpec;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.runtime.log.LogFiles;
import dev.zlayer.task.Deadline;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** A busybox container under conmon and runc, without network or image, for tests. */
public final class Box implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private final String id = "box-" + UUID.randomUUID();
  private final Path directory;
  private final Path root;
  private final LogFiles logs;

  public Box(Path directory, Path root, LogSpec spec) throws Exception {
    this.directory = directory;
    this.root = root;
    this.logs = new LogFiles(directory.resolve("logs"), spec);
    Files.createDirectories(directory.resolve("exits"));
  }

  /** Fills a directory with a busybox for every command it knows. */
  public static Path makeRoot(Path root) throws Exception {
    Path bin = Files.createDirectories(root.resolve("bin"));
    for (String name : List.of("proc", "dev", "tmp", "etc", "data", "scratch")) {
      Files.createDirectories(root.resolve(name));
    }
    Files.copy(
        Path.of("/usr/bin/busybox"), bin.resolve("busybox"), StandardCopyOption.COPY_ATTRIBUTES);
    for (String name : List.of("sh", "sleep", "cat", "yes", "head", "seq", "dd", "true")) {
      Files.createSymbolicLink(bin.resolve(name), Path.of("busybox"));
    }
    return root;
  }

  public LogFiles logs() {
    return logs;
  }

  public Path root() {
    return root;
  }

  public String group() {
    return "/" + id;
  }

  public Path exitFile() {
    return directory.resolve("exits").resolve(id);
  }

  public boolean ended() {
    return Files.exists(exitFile());
  }

  public long pid() throws Exception {
    return Long.parseLong(Files.readString(directory.resolve("pid")).strip());
  }

  /** Runs a shell script as the first process. */
  public Box start(String script) throws Exception {
    create(script);
    startCreated();
    return this;
  }

  public void startCreated() throws Exception {
    run("runc", "start", id);
  }

  public void create(String script) throws Exception {
    logs.prepare();
    Files.deleteIfExists(exitFile());
    Files.deleteIfExists(directory.resolve("pid"));
    Files.writeString(directory.resolve("config.json"), config(script));
    var arguments =
        new ArrayList<>(
            List.of("conmon", "--cid", id, "--cuuid", id, "--runtime", "/usr/sbin/runc"));
    arguments.addAll(List.of("--bundle", directory.toString(), "--exit-dir"));
    arguments.addAll(List.of(directory.resolve("exits").toString(), "--container-pidfile"));
    arguments.addAll(List.of(directory.resolve("pid").toString(), "--full-attach"));
    arguments.addAll(logs.conmonArguments());
    // conmon notes an out-of-memory kill in its working directory
    Processes.check(Command.of(arguments).in(directory), Deadline.after(TIMEOUT));
    await().atMost(TIMEOUT).until(() -> state().contains("\"created\""));
  }

  public void awaitEnd() {
    await().atMost(TIMEOUT).until(this::ended);
  }

  @Override
  public void close() throws Exception {
    Processes.run(Command.of("runc", "delete", "--force", id), Deadline.after(TIMEOUT));
  }

  private String state() throws Exception {
    return Processes.run(Command.of("runc", "state", id), Deadline.after(TIMEOUT)).stdout();
  }

  private static CommandResult run(String... arguments) throws Exception {
    return Processes.check(Command.of(arguments), Deadline.after(TIMEOUT));
  }

  private String config(String script) {
    return """
    {
      "ociVersion": "1.0.2",
      "process": {
        "user": {"uid": 0, "gid": 0}, "cwd": "/", "env": ["PATH=/bin"],
        "args": ["/bin/sh", "-c", SCRIPT]
      },
      "root": {"path": ROOT},
      "mounts": [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/scratch", "type": "tmpfs", "source": "tmpfs", "options": ["size=16m"]}
      ],
      "linux": {
        "cgroupsPath": GROUP,
        "resources": {"memory": {"limit": 67108864}, "pids": {"limit": 50}},
        "namespaces": [
          {"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}, {"type": "network"}
        ]
      }
    }
    """
        .replace("SCRIPT", quote(script))
        .replace("ROOT", quote(root.toString()))
        .replace("GROUP", quote(group()));
  }

  private static String quote(String text) {
    return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + "\"";
  }
}
