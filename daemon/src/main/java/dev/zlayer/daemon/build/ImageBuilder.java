package dev.zlayer.daemon.build;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.image.LocalImages;
import dev.zlayer.image.layer.Decompression;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.Images;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.runtime.cni.Networks;
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
  private static final String FAILED_RUN = "building at STEP \"RUN ";
  private static final String STATUS = "exit status ";
  private static final Pattern LEADING_NUMBER = Pattern.compile("[0-9]{1,3}");

  private final DataDir dirs;
  private final Optional<Path> runtime;
  private final Images images;
  private final LocalImages store;
  private final Optional<Networks> networks;

  /**
   * Ends and removes builds that an earlier agent left.
   *
   * @param runtime the OCI runtime that works on this host
   */
  public ImageBuilder(
      DataDir dirs,
      Optional<Path> runtime,
      Images images,
      LocalImages store,
      Optional<Networks> networks)
      throws InterruptedException {
    this.dirs = dirs;
    this.runtime = runtime;
    this.images = images;
    this.store = store;
    this.networks = networks;
    try {
      Buildah.removeAll(dirs);
      if (networks.isPresent()) {
        BuildNetwork.removeAll(networks.get());
      }
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
      String dockerfile = dockerfile(prepared, request.dockerfile());
      DockerfileFlags.refuse(dockerfile);
      provide(prepared, dockerfile, request, auths);
      // buildah runs the preprocessor of C on names that end in .in, which includes any file
      Path plain = Files.writeString(prepared.buildah.file("Dockerfile"), dockerfile);
      Path id = prepared.buildah.file("id");
      build(prepared, request.network(), options(prepared, request, plain, id), output);
      Path archive = prepared.buildah.file("image.tar");
      prepared.buildah.save(Files.readString(id), archive);
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
      Prepared prepared,
      String dockerfile,
      BuildRequest request,
      Function<String, Optional<RegistryAuth>> auths)
      throws IOException, InterruptedException {
    PullPolicy policy = request.pull() ? PullPolicy.ALWAYS : PullPolicy.IF_NOT_PRESENT;
    int number = 0;
    for (ImageRef base : BaseImages.of(dockerfile, request.arguments())) {
      ImageInfo pulled =
          images.pull(
              new PullRequest(base, policy, Optional.empty(), auths.apply(base.host())), _ -> {});
      Path archive = prepared.buildah.file("base-" + number++ + ".tar");
      try (OutputStream out = Files.newOutputStream(archive)) {
        store.save(List.of(base), out);
      }
      requireTriggers(base, pulled);
      prepared.buildah.load(archive);
      Files.delete(archive);
    }
  }

  /** An image can bring instructions, which run in the build as those of the Dockerfile do. */
  private void requireTriggers(ImageRef base, ImageInfo pulled) {
    Optional<Digest> now = store.find(base).map(details -> details.info().digest());
    if (!now.equals(Optional.of(pulled.digest()))) {
      throw new AgentException.Conflict(
          "image '%s' was replaced while it was read: build again".formatted(base));
    }
    store.triggers(base).forEach(DockerfileFlags::refuse);
  }

  private static String read(Path file) throws IOException {
    try (InputStream in = Files.newInputStream(file)) {
      byte[] text = in.readNBytes(LONGEST_FILE + 1);
      if (text.length > LONGEST_FILE) {
        throw new AgentException.InvalidSpec(
            "%s is longer than %d KiB".formatted(file.getFileName(), LONGEST_FILE >> 10));
      }
      return new String(text, StandardCharsets.UTF_8);
    }
  }

  private static String dockerfile(Prepared prepared, String name) throws IOException {
    return read(inside(prepared, name));
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

  private static List<String> options(
      Prepared prepared, BuildRequest request, Path dockerfile, Path id) throws IOException {
    var words = new ArrayList<>(List.of("--pull-never", "--identity-label=false"));
    words.addAll(request.limits());
    words.add("--ignorefile=" + ignored(prepared));
    // that of the host is where the builder runs
    String network = request.network() == BuildRequest.Network.NONE ? "none" : "host";
    words.addAll(List.of("--network", network));
    words.addAll(List.of("--iidfile", id.toString()));
    words.addAll(List.of("-f", dockerfile.toString()));
    request.target().ifPresent(stage -> words.addAll(List.of("--target", stage)));
    request.arguments().forEach((name, value) -> words.add("--build-arg=" + name + "=" + value));
    request.labels().forEach((name, value) -> words.add("--label=" + name + "=" + value));
    request.extraHosts().forEach(host -> words.add("--add-host=" + host));
    words.add(prepared.context().toString());
    return words;
  }

  /**
   * The patterns of files that are not part of the context, without the spaces around them. The
   * builder would follow a link of this name, and know another name.
   */
  private static Path ignored(Prepared prepared) throws IOException {
    Path given = prepared.context().resolve(".dockerignore");
    var lines = new ArrayList<String>();
    if (Files.isRegularFile(given, LinkOption.NOFOLLOW_LINKS)) {
      for (String line : read(given).lines().toList()) {
        String pattern = line.strip();
        if (!line.startsWith("#") && !pattern.isEmpty()) {
          lines.add(pattern.startsWith("!") ? "!" + pattern.substring(1).strip() : pattern);
        }
      }
    }
    return Files.write(prepared.buildah.file("ignored"), lines);
  }

  private void build(
      Prepared prepared,
      BuildRequest.Network network,
      List<String> options,
      Consumer<String> output)
      throws IOException, InterruptedException {
    try {
      if (network == BuildRequest.Network.HOST) {
        prepared.buildah.build(List.of(), options, output);
      } else {
        Networks all =
            networks.orElseThrow(
                () -> new AgentException.Configuration("this agent has no networks to build in"));
        try (var own = BuildNetwork.open(all, prepared.buildah.directory())) {
          prepared.buildah.build(own.words(), options, output);
        }
      }
    } catch (Buildah.Failed e) {
      throw failed(e.code(), String.valueOf(e.getMessage()));
    }
  }

  static StepFailed failed(int code, String said) {
    int step = said.lastIndexOf(FAILED_RUN);
    int end = step < 0 ? -1 : said.indexOf("\": ", step);
    int status = end < 0 ? -1 : said.lastIndexOf(STATUS);
    if (status > end) {
      Matcher number = LEADING_NUMBER.matcher(said.substring(status + STATUS.length()));
      if (number.lookingAt()) {
        return new StepFailed(
            Integer.parseInt(number.group()),
            "The command '/bin/sh -c %s' returned a non-zero code: %s"
                .formatted(said.substring(step + FAILED_RUN.length(), end), number.group()));
      }
    }
    return new StepFailed(code, said.replaceFirst("(?s).*?Error: ", ""));
  }
}
