package dev.zlayer.daemon.build;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.linux.AppArmor;
import dev.zlayer.host.linux.Cgroups;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.ConfinedProcess;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.runtime.observe.DirectoryArchive;
import dev.zlayer.runtime.oci.config.DefaultSeccomp;
import dev.zlayer.runtime.oci.tool.AppArmorProfile;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The program that builds, in one directory that has everything of one build: its storage, the
 * state of the OCI runtime, temporary files. Nothing of it outlives the build: its processes and
 * mounts are in namespaces of their own, its control group has a known name.
 */
final class Buildah implements AutoCloseable {
  private static final Duration TOOL_LIMIT = Duration.ofMinutes(10);
  private static final int LAST_LINES = 5;

  /** A longer one becomes several, so that commands cannot fill the memory. */
  static final int LONGEST_LINE = 1 << 14;

  private static final String ANYTHING =
      """
      {"default": [{"type": "insecureAcceptAnything"}]}
      """;

  private final DataDir dirs;
  private final Path directory;
  private final Optional<Path> runtime;

  private Buildah(DataDir dirs, Path directory, Optional<Path> runtime) {
    this.dirs = dirs;
    this.directory = directory;
    this.runtime = runtime;
  }

  /**
   * Makes a directory for one build.
   *
   * @param runtime the OCI runtime that runs the commands of the build
   * @throws AgentException.Configuration buildah is not installed
   */
  static Buildah open(DataDir dirs, Optional<Path> runtime) throws IOException {
    boolean present =
        List.of("/usr/bin/buildah", "/usr/local/bin/buildah", "/usr/sbin/buildah").stream()
            .anyMatch(path -> Files.isExecutable(Path.of(path)));
    if (!present) {
      throw new AgentException.Configuration(
          "building images needs the program buildah: install the package 'buildah'");
    }
    var made = new Buildah(dirs, Files.createTempDirectory(dirs.builds(), "build-"), runtime);
    Files.writeString(made.file("policy.json"), made.ownStorageOnly());
    Files.writeString(made.file("any.json"), ANYTHING);
    Files.write(made.file("seccomp.json"), JsonText.bytes(DefaultSeccomp.profile()));
    return made;
  }

  /** What the builder may read images from: a Dockerfile could name files of the host. */
  private String ownStorageOnly() {
    return """
    {"default": [{"type": "reject"}],
     "transports": {"containers-storage": {"[vfs@%s]": [{"type": "insecureAcceptAnything"}]}}}
    """
        .formatted(file("storage"));
  }

  /** Ends and removes all builds of an earlier agent. */
  static void removeAll(DataDir dirs) throws IOException {
    Path builds = dirs.builds();
    if (Files.notExists(builds)) {
      return;
    }
    ConfinedProcess.endAll(builds.toString());
    try (Stream<Path> entries = Files.list(builds)) {
      for (Path build : entries.toList()) {
        new Buildah(dirs, build, Optional.empty()).remove();
      }
    }
    RootedDirectory.removeTree(builds);
  }

  Path directory() {
    return directory;
  }

  Path file(String name) {
    return directory.resolve(name);
  }

  /** In every hierarchy of control groups. */
  private String group() {
    return "/zlayer/%s-%s".formatted(dirs.tag(), directory.getFileName());
  }

  /**
   * Builds.
   *
   * @param before words that run the program elsewhere
   * @param output gets each line that is printed; when it fails, the build ends
   * @throws Failed it exited with something else than 0
   */
  void build(List<String> before, List<String> options, Consumer<String> output)
      throws IOException, InterruptedException {
    var words = new ArrayList<>(List.of("bud", "--isolation", "oci", "--cgroup-parent", group()));
    words.add("--format=docker"); // the other one has no health checks and triggers
    words.add("--signature-policy=" + file("policy.json"));
    words.add("--security-opt=seccomp=" + file("seccomp.json"));
    words.addAll(confinement(profile -> AppArmor.enabled() && AppArmor.loaded(profile)));
    runtime.ifPresent(
        path ->
            words.addAll(
                List.of(
                    "--runtime", path.toString(), "--runtime-flag", "root=" + file("containers"))));
    words.addAll(options);
    run(before, words, Optional.empty(), output);
  }

  /** Commands have the profile that containers have, where there is one. */
  static List<String> confinement(Predicate<String> inForce) {
    return inForce.test(AppArmorProfile.DEFAULT)
        ? List.of("--security-opt=apparmor=" + AppArmorProfile.DEFAULT)
        : List.of();
  }

  /** Takes images out of an archive of ours. */
  void load(Path archive) throws IOException, InterruptedException {
    run("pull", "-q", "--signature-policy=" + file("any.json"), "docker-archive:" + archive);
  }

  /**
   * Writes an image that was built to an archive. Archives that the builder writes have either no
   * compression or not all of the configuration, so it writes its files.
   */
  void save(String id, Path archive) throws IOException, InterruptedException {
    Path files = file("image");
    run("push", "--format=v2s2", "--signature-policy=" + file("policy.json"), id, "dir:" + files);
    Path list = files.resolve("manifest.json");
    Json manifest = JsonText.parse(Files.readAllBytes(list));
    Json entry =
        Json.object()
            .put("Config", name(manifest.at("config")))
            .put("Layers", manifest.at("layers").items().stream().map(Buildah::name).toList())
            .build();
    Files.write(list, JsonText.bytes(Json.of(List.of(entry))));
    try (OutputStream out = Files.newOutputStream(archive)) {
      DirectoryArchive.write(files, out);
    }
    RootedDirectory.removeTree(files);
  }

  /** The file of a blob. */
  private static String name(Json descriptor) {
    return descriptor.at("digest").string().orElse("").replaceFirst("^sha256:", "");
  }

  private void run(String... words) throws IOException, InterruptedException {
    try {
      run(List.of(), List.of(words), Optional.of(Deadline.after(TOOL_LIMIT)), _ -> {});
    } catch (Failed e) {
      throw new AgentException.Internal("buildah failed: " + e.getMessage(), e);
    }
  }

  private void run(
      List<String> before, List<String> words, Optional<Deadline> deadline, Consumer<String> output)
      throws IOException, InterruptedException {
    var last = new ArrayList<String>();
    try (var scope = TaskScope.ofPlatformThreads("build-output");
        var process = ConfinedProcess.start(dirs.builds().toString(), command(before, words))) {
      scope.fork(() -> passOn(process, last, output));
      if (deadline.isEmpty()) {
        int _ = process.waitFor();
      } else if (!process.waitFor(deadline.get())) {
        throw new AgentException.Timeout("running buildah", deadline.get().limit());
      }
      scope.join();
      if (process.exitCode() != 0) {
        throw new Failed(process.exitCode(), String.join("\n", last));
      }
    }
  }

  /** The builder said something and exited. */
  static final class Failed extends RuntimeException {
    private static final long serialVersionUID = 1;
    private final int code;

    Failed(int code, String said) {
      super(said);
      this.code = code;
    }

    int code() {
      return code;
    }
  }

  private static boolean passOn(ConfinedProcess process, List<String> last, Consumer<String> output)
      throws IOException {
    try (var lines =
        new BufferedReader(new InputStreamReader(process.output(), StandardCharsets.UTF_8))) {
      for (Optional<String> line = line(lines); line.isPresent(); line = line(lines)) {
        last.add(line.get());
        if (last.size() > LAST_LINES) {
          last.removeFirst();
        }
        output.accept(line.get());
      }
      return true;
    } catch (IOException | RuntimeException e) {
      process.close(); // nobody reads what else it prints
      throw e;
    }
  }

  /** The next one, or a part of it; empty at the end. */
  static Optional<String> line(Reader reader) throws IOException {
    var line = new StringBuilder();
    int next = reader.read();
    if (next < 0) {
      return Optional.empty();
    }
    while (next >= 0 && next != '\n') {
      line.append((char) next);
      if (line.length() == LONGEST_LINE) {
        return Optional.of(line.toString());
      }
      next = reader.read();
    }
    if (!line.isEmpty() && line.charAt(line.length() - 1) == '\r') {
      line.setLength(line.length() - 1);
    }
    return Optional.of(line.toString());
  }

  private Command command(List<String> before, List<String> arguments) throws IOException {
    Path temporary = Files.createDirectories(file("tmp"));
    var words = new ArrayList<>(before);
    words.addAll(List.of("buildah", "--cgroup-manager", "cgroupfs"));
    words.addAll(List.of("--root", file("storage").toString()));
    words.addAll(List.of("--runroot", file("run").toString(), "--storage-driver", "vfs"));
    words.addAll(arguments);
    return Command.of(words).withEnv(Map.of("TMPDIR", temporary.toString()));
  }

  @Override
  public void close() {
    try {
      remove();
    } catch (IOException _) {
      // what is left is removed by the next agent
    }
  }

  private void remove() throws IOException {
    boolean _ = Cgroups.detect().at(group()).remove();
    RootedDirectory.removeTree(directory);
  }
}
