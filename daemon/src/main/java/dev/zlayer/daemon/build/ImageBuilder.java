package dev.zlayer.daemon.build;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.image.LocalImages;
import dev.zlayer.image.layer.Decompression;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.Images;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.runtime.observe.DirectoryArchive;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs buildah with storage of its own; base images come from our store, the result goes to it. A
 * build ends with the one who asked for it, and with this agent.
 */
public final class ImageBuilder {
  private static final int LONGEST_FILE = 1 << 20;
  private static final Pattern FAILED_RUN =
      Pattern.compile("(?s).*building at STEP \"RUN (.*?)\": .*exit status ([0-9]+).*");

  private final DataDir dirs;
  private final Optional<Path> runtime;
  private final Images images;
  private final LocalImages store;

  /**
   * Ends and removes builds that an earlier agent left.
   *
   * @param runtime the OCI runtime that works on this host
   */
  public ImageBuilder(DataDir dirs, Optional<Path> runtime, Images images, LocalImages store) {
    this.dirs = dirs;
    this.runtime = runtime;
    this.images = images;
    this.store = store;
    try {
      Buildah.removeAll(dirs);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "what an earlier build left in %s cannot be removed: %s"
              .formatted(dirs.builds(), e.getMessage()),
          e);
    }
  }

  /** A context that was received; closing removes it with all else of the build. */
  public static final class Prepared implements AutoCloseable {
    private final Buildah buildah;

    private Prepared(Buildah buildah) {
      this.buildah = buildah;
    }

    private Path context() {
      return buildah.file("context");
    }

    @Override
    public void close() {
      buildah.close();
    }
  }

  /**
   * Receives a context, as a tar archive that may be compressed.
   *
   * @throws AgentException.Configuration buildah is not installed
   */
  public Prepared receive(InputStream context) throws InterruptedException {
    try {
      PrivateDirectory.directory(dirs.builds());
      var prepared = new Prepared(Buildah.open(dirs, runtime));
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
      Path id = prepared.buildah.file("id");
      build(prepared, options(prepared, request, id), output);
      Path archive = prepared.buildah.file("image.tar");
      prepared.buildah.run("push", Files.readString(id), "oci-archive:" + archive);
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
      Path archive = prepared.buildah.file("base-" + number++ + ".tar");
      try (OutputStream out = Files.newOutputStream(archive)) {
        store.save(List.of(base), out);
      }
      prepared.buildah.run("pull", "-q", "docker-archive:" + archive);
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
    try {
      Path file = prepared.context().resolve(name).normalize();
      if (Files.isRegularFile(file)
          && file.toRealPath().startsWith(prepared.context().toRealPath())) {
        return file;
      }
    } catch (InvalidPathException _) {
      // no file has such a name
    }
    throw new AgentException.InvalidSpec("Cannot locate specified Dockerfile: %s".formatted(name));
  }

  private static List<String> options(Prepared prepared, BuildRequest request, Path id)
      throws IOException {
    var words = new ArrayList<>(List.of("--pull-never", "--identity-label=false"));
    words.addAll(request.limits());
    ignored(prepared).ifPresent(file -> words.add("--ignorefile=" + file));
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

  /** The patterns of files that are not part of the context, without the spaces around them. */
  private static Optional<Path> ignored(Prepared prepared) throws IOException {
    Path given = prepared.context().resolve(".dockerignore");
    if (!Files.isRegularFile(given, LinkOption.NOFOLLOW_LINKS)) {
      return Optional.empty();
    }
    var lines = new ArrayList<String>();
    for (String line : new String(read(given), StandardCharsets.UTF_8).lines().toList()) {
      String pattern = line.strip();
      if (!line.startsWith("#") && !pattern.isEmpty()) {
        lines.add(pattern.startsWith("!") ? "!" + pattern.substring(1).strip() : pattern);
      }
    }
    return Optional.of(Files.write(prepared.buildah.file("ignored"), lines));
  }

  private static void build(Prepared prepared, List<String> options, Consumer<String> output)
      throws IOException, InterruptedException {
    try {
      prepared.buildah.build(options, output);
    } catch (Buildah.Failed e) {
      throw failed(e.code(), String.valueOf(e.getMessage()));
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
}
