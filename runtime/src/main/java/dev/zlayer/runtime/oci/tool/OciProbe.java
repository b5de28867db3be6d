package dev.zlayer.runtime.oci.tool;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.linux.BootId;
import dev.zlayer.host.linux.CgroupSupport;
import dev.zlayer.host.linux.Cgroups;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.linux.UserNamespaces;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Finds out whether an OCI runtime works by running a container with it, because some start and
 * then refuse this host's control groups. Answers are kept by the program's path and age, and only
 * for the host as it is now: it can come up with other control groups next time.
 */
final class OciProbe {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final List<String> SYSTEM = List.of("/usr", "/bin", "/lib", "/lib64");

  /** In every container of ours; with cgroup v2 a program for the kernel, which takes more. */
  private static final Json NO_DEVICES =
      Json.object().put("allow", false).put("access", "rwm").build();

  private final Path cache;

  OciProbe(Path cache) {
    this.cache = cache;
  }

  /** In the given order; stops at the first that works, since no later one would be used. */
  List<OciTool> tryAll(List<Path> programs) throws InterruptedException {
    String host = host();
    Map<String, Json> known = new LinkedHashMap<>(readCache());
    known.keySet().removeIf(key -> !key.endsWith(host));
    var tools = new ArrayList<OciTool>();
    boolean news = false;
    for (Path program : programs) {
      String key = program + "@" + modified(program) + host;
      Json answer = known.get(key);
      if (answer == null) {
        answer = probe(program);
        known.put(key, answer);
        news = true;
      }
      OciTool tool = tool(program, answer);
      tools.add(tool);
      if (tool.works()) {
        break;
      }
    }
    if (news) {
      writeCache(known);
    }
    return tools;
  }

  private static OciTool tool(Path program, Json answer) {
    return new OciTool(
        program.getFileName().toString(),
        program,
        answer.at("version").string().orElse("unknown"),
        answer.at("problem").string(),
        Set.copyOf(answer.at("mountOptions").strings()));
  }

  private Json probe(Path program) throws InterruptedException {
    var answer = Json.object();
    try {
      CommandResult version = run(program, "--version");
      answer.put("version", version.stdout().strip().lines().findFirst().orElse("unknown"));
      answer.put("mountOptions", mountOptions(program));
      answer.putIf("problem", trial(program));
    } catch (AgentException | IOException e) {
      answer.put("version", "unknown").put("problem", String.valueOf(e.getMessage()));
    }
    return answer.build();
  }

  private static List<String> mountOptions(Path program) throws InterruptedException {
    CommandResult features = run(program, "features");
    if (!features.success()) {
      return List.of(); // older than the verb
    }
    try {
      return JsonText.parse(features.stdoutBytes()).at("mountOptions").strings();
    } catch (AgentException.InvalidSpec _) {
      return List.of();
    }
  }

  /** Runs {@code true} in a container made of the host's own programs; what went wrong, if so. */
  private Optional<String> trial(Path program) throws IOException, InterruptedException {
    Path parent = Objects.requireNonNull(cache.toAbsolutePath().getParent());
    Path directory = Files.createTempDirectory(Files.createDirectories(parent), "probe");
    try {
      String name = directory.getFileName().toString();
      Files.createDirectory(directory.resolve("rootfs"));
      Files.write(directory.resolve("config.json"), JsonText.bytes(config(name)));
      Command command =
          Command.of(
              program.toString(),
              "--root",
              directory.resolve("state").toString(),
              "run",
              "--bundle",
              directory.toString(),
              name);
      CommandResult result = Processes.run(command, Deadline.after(TIMEOUT));
      if (result.success()) {
        return Optional.empty();
      }
      Optional<String> group = group(name);
      if (group.isPresent()) {
        // a runtime that gave up may leave it
        boolean _ = Cgroups.detect().at(group.get()).remove();
      }
      return Optional.of(ToolFailed.of(command, "run", result).reason());
    } finally {
      RootedDirectory.removeTree(directory);
    }
  }

  private static Json config(String name) throws IOException {
    var mounts = new ArrayList<Json>();
    mounts.add(mount("/proc", "proc"));
    mounts.add(mount("/dev", "tmpfs")); // crun does not do without
    for (String directory : SYSTEM) {
      if (Files.isDirectory(Path.of(directory))) {
        mounts.add(
            Json.object()
                .put("destination", directory)
                .put("type", "bind")
                .put("source", directory)
                .put("options", List.of("rbind", "ro"))
                .build());
      }
    }
    var namespaces = new ArrayList<Json>();
    for (String type : List.of("mount", "pid", "ipc", "uts", "network")) {
      namespaces.add(Json.object().put("type", type).build());
    }
    return Json.object()
        .put("ociVersion", "1.0.2")
        .put(
            "process",
            Json.object()
                .put("user", Json.object().put("uid", 0).put("gid", 0).build())
                .put("args", List.of("/bin/true"))
                .put("cwd", "/")
                .build())
        .put("root", Json.object().put("path", "rootfs").build())
        .put("mounts", mounts)
        .put(
            "linux",
            Json.object()
                .put("namespaces", namespaces)
                .putIf("cgroupsPath", group(name))
                .put("resources", Json.object().put("devices", List.of(NO_DEVICES)).build())
                .build())
        .build();
  }

  private static Json mount(String target, String type) {
    return Json.object().put("destination", target).put("type", type).put("source", type).build();
  }

  private static Optional<String> group(String name) throws IOException {
    return CgroupSupport.read().parent().map(parent -> parent + "/" + name);
  }

  private static CommandResult run(Path program, String verb) throws InterruptedException {
    return Processes.run(Command.of(program.toString(), verb), Deadline.after(TIMEOUT));
  }

  private static String host() {
    try {
      return "@%s@%s@%s".formatted(Machine.cgroupMode(), UserNamespaces.inside(), BootId.read());
    } catch (IOException e) {
      throw new AgentException.Configuration("cannot determine the boot time of this host", e);
    }
  }

  private static String modified(Path program) {
    try {
      return Files.getLastModifiedTime(program).toString();
    } catch (IOException _) {
      return "unknown";
    }
  }

  private Map<String, Json> readCache() {
    try {
      return JsonText.parse(Files.readAllBytes(cache)).members();
    } catch (IOException | AgentException.InvalidSpec _) {
      return Map.of(); // not there or not ours: trying again is all it costs
    }
  }

  private void writeCache(Map<String, Json> known) {
    try {
      AtomicFile.write(cache, JsonText.bytes(new Json.Obj(known)));
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot write %s: %s".formatted(cache, e.getMessage()), e);
    }
  }
}
