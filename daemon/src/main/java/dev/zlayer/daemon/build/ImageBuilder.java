package dev.zlayer.daemon.build;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.image.LocalImages;
import dev.zlayer.image.layer.Decompression;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.Images;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.runtime.observe.DirectoryArchive;
import dev.zlayer.task.Deadline;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Runs buildah with storage of its own; base images come from our store, the result goes to it. */
public final class ImageBuilder {
  private static final Duration TOOL_LIMIT = Duration.ofMinutes(10);
  private static final Duration END_LIMIT = Duration.ofSeconds(5);
  private static final int LONGEST_FILE = 1 << 20;
  private static final int LAST_LINES = 5;
  private static final Pattern FAILED_RUN =
      Pattern.compile("(?s).*building at STEP \"RUN (.*?)\": .*exit status ([0-9]+).*");

  private final Path directory;
  private final Optional<Path> runtime;
  private final Images images;
  private final LocalImages store;

  /**
   * @param directory where builds are made; what earlier agents left there is removed
   * @param runtime the OCI runtime that works on this host
   */
  public ImageBuilder(Path directory, Optional<Path> runtime, Images images, LocalImages store) {
    this.directory = directory;
    sweep(directory);
    this.runtime = runtime;
    this.images = images;
    this.store = store;
  }

  private static void sweep(Path directory) {
    try {
      if (Files.isDirectory(directory)) {
        RootedDirectory.removeTree(directory);
      }
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "what an earlier build left in %s cannot be removed: %s"
              .formatted(directory, e.getMessage()),
          e);
    }
  }

  /** A context that was received, and the place where it is built; closing removes both. */
  public static final class Prepared implements AutoCloseable {
    private final Path place;

    private Prepared(Path place) {
      this.place = place;
    }

    private Path context() {
      return place.resolve("context");
    }

    @Override
    public void close() {
      try {
        RootedDirectory.removeTree(place);
      } catch (IOException _) {
        // what is left is removed before the next build
      }
    }
  }

  /**
   * Receives a context, as a tar archive that may be compressed.
   *
   * @throws AgentException.Configuration buildah is not installed
   */
  public Prepared receive(InputStream context) throws InterruptedException {
    requireBuilder();
    try {
      PrivateDirectory.directory(directory);
      var prepared = new Prepared(Files.createTempDirectory(directory, "build-"));
      try {
        Files.createDirectory(prepared.context());
        try (InputStream plain = Decompression.open(context)) {
          DirectoryArchive.read(prepared.context(), plain);
        }
        return prepared;
      } catch (IOException | RuntimeException | InterruptedException e) {
        prepared.close();
        throw e;
      }
    } catch (IOException e) {
      throw new AgentException.InvalidSpec(
          "the build context cannot be unpacked: " + e.getMessage(), e);
    }
  }

  private static void requireBuilder() {
    boolean present =
        List.of("/usr/bin/buildah", "/usr/local/bin/buildah", "/usr/sbin/buildah").stream()
            .anyMatch(path -> Files.isExecutable(Path.of(path)));
    if (!present) {
      throw new AgentException.Configuration(
          "building images needs the program buildah: install the package 'buildah'");
    }
  }

  /** A command of the Dockerfile failed. */
  public static final class StepFailed extends RuntimeException {
    private static final long serialVersionUID = 1;
    private final int code;

    StepFailed(int code, String message) {
      super(message);
      this.code = code;
    }

    public int code() {
      return code;
    }
  }

  /**
   * Builds.
   *
   * @param auths credentials by registry host, for base images
   * @param output gets each line that the builder prints
   */
  public ImageInfo build(
      Prepared prepared,
      BuildRequest request,
      Function<String, Optional<RegistryAuth>> auths,
      Consumer<String> output)
      throws InterruptedException {
    try {
      provide(prepared, request, auths);
      Path id = prepared.place.resolve("id");
      run(prepared, arguments(prepared, request, id), output);
      Path archive = prepared.place.resolve("image.tar");
      check(tool(prepared, "push", Files.readString(id), "oci-archive:" + archive));
      try (InputStream in = Files.newInputStream(archive)) {
        ImageInfo made = store.load(in).getFirst();
        for (ImageRef tag : request.tags()) {
          images.tag(tag.withDigest(made.digest()), tag);
        }
        return made;
      }
    } catch (IOException e) {
      throw new AgentException.Internal("the build failed: " + e.getMessage(), e);
    }
  }

  /**
   * Brings the base images into the storage of the build, so that the builder needs no registry.
   */
  private void provide(
      Prepared prepared, BuildRequest request, Function<String, Optional<RegistryAuth>> auths)
      throws IOException, InterruptedException {
    Path file = inside(prepared, request.dockerfile());
    String text = new String(read(file), StandardCharsets.UTF_8);
    PullPolicy policy = request.pull() ? PullPolicy.ALWAYS : PullPolicy.IF_NOT_PRESENT;
    int number = 0;
    for (ImageRef base : BaseImages.of(text, request.arguments())) {
      images.pull(
          new PullRequest(base, policy, Optional.empty(), auths.apply(base.host())), _ -> {});
      Path archive = prepared.place.resolve("base-" + number++ + ".tar");
      try (OutputStream out = Files.newOutputStream(archive)) {
        store.save(List.of(base), out);
      }
      check(tool(prepared, "pull", "-q", "docker-archive:" + archive));
      Files.delete(archive);
    }
  }

  private static byte[] read(Path file) throws IOException {
    try (InputStream in = Files.newInputStream(file)) {
      return in.readNBytes(LONGEST_FILE);
    }
  }

  /** Neither dots nor links lead out of the context. */
  private static Path inside(Prepared prepared, String name) throws IOException {
    Path file = prepared.context().resolve(name).normalize();
    boolean within =
        Files.isRegularFile(file) && file.toRealPath().startsWith(prepared.context().toRealPath());
    if (!within) {
      throw new AgentException.InvalidSpec(
          "Cannot locate specified Dockerfile: %s".formatted(name));
    }
    return file;
  }

  private List<String> arguments(Prepared prepared, BuildRequest request, Path id)
      throws IOException {
    var words = new ArrayList<>(List.of("bud", "--pull-never", "--isolation", "oci"));
    runtime.ifPresent(path -> words.addAll(List.of("--runtime", path.toString())));
    words.addAll(List.of("--network", request.hostNetwork() ? "host" : "none"));
    words.addAll(List.of("--iidfile", id.toString()));
    words.addAll(List.of("-f", inside(prepared, request.dockerfile()).toString()));
    request.target().ifPresent(stage -> words.addAll(List.of("--target", stage)));
    request.arguments().forEach((name, value) -> words.add("--build-arg=" + name + "=" + value));
    request.labels().forEach((name, value) -> words.add("--label=" + name + "=" + value));
    request.extraHosts().forEach(host -> words.add("--add-host=" + host));
    words.add(prepared.context().toString());
    return words;
  }

  private void run(Prepared prepared, List<String> arguments, Consumer<String> output)
      throws IOException, InterruptedException {
    var words = new ArrayList<>(List.of("/bin/sh", "-c", "exec \"$@\" 2>&1 </dev/null", "build"));
    words.addAll(command(prepared, arguments));
    Process builder = Processes.start(Command.of(words));
    var last = new ArrayList<String>();
    try (BufferedReader lines = builder.inputReader(StandardCharsets.UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        output.accept(line);
        last.add(line);
        if (last.size() > LAST_LINES) {
          last.removeFirst();
        }
      }
      int code = builder.waitFor();
      if (code != 0) {
        throw failed(code, String.join("\n", last));
      }
    } finally {
      end(builder);
    }
  }

  private static StepFailed failed(int code, String said) {
    Matcher step = FAILED_RUN.matcher(said);
    return step.matches()
        ? new StepFailed(
            Integer.parseInt(step.group(2)),
            "The command '/bin/sh -c %s' returned a non-zero code: %s"
                .formatted(step.group(1), step.group(2)))
        : new StepFailed(code, said.replaceFirst("(?s).*?Error: ", ""));
  }

  /** With its children: the commands that it runs. */
  private static void end(Process builder) {
    if (builder.isAlive()) {
      List<ProcessHandle> all =
          builder.descendants().sorted(Comparator.comparingLong(ProcessHandle::pid)).toList();
      builder.destroyForcibly();
      all.forEach(ProcessHandle::destroyForcibly);
      builder.onExit().orTimeout(END_LIMIT.toSeconds(), java.util.concurrent.TimeUnit.SECONDS);
    }
  }

  private CommandResult tool(Prepared prepared, String... arguments) throws InterruptedException {
    return Processes.run(
        Command.of(command(prepared, List.of(arguments))), Deadline.after(TOOL_LIMIT));
  }

  private static void check(CommandResult result) {
    if (!result.success()) {
      throw new AgentException.Internal("buildah failed: " + result.lastLine());
    }
  }

  private static List<String> command(Prepared prepared, List<String> arguments) {
    var words =
        new ArrayList<>(
            List.of(
                "buildah",
                "--root",
                prepared.place.resolve("storage").toString(),
                "--runroot",
                prepared.place.resolve("run").toString(),
                "--storage-driver",
                "vfs"));
    words.addAll(arguments);
    return words;
  }
}
