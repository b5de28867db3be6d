package dev.zlayer.bench.engine;

import dev.zlayer.bench.Census;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.host.linux.OverlayMount;
import dev.zlayer.host.process.Command;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The bare parts: an overlay mount, conmon and the OCI runtime, with no agent around them. Nothing
 * that runs containers under a monitor can need less.
 */
public final class FloorEngine implements Engine {
  /** conmon tells the pid over descriptor 3 and holds 4 as long as it lives. */
  private static final String CREATE_AND_START =
      """
      runtime=$1; root=$2; name=$3; until=$4; shift 4
      "$@" 3>&1 4>&1 >/dev/null 2>&1 </dev/null | {
        IFS= read -r told; printf '%s\\n' "$told"
        "$runtime" --root "$root" start "$name" || exit 1
        [ "$until" = started ] || IFS= read -r end
      }
      [ "$until" != removed ] || "$runtime" --root "$root" delete "$name"
      """;

  private static final String BARE =
      "\"$0\" --root \"$1\" create --bundle \"$2\" \"$3\" </dev/null >/dev/null 2>&1"
          + " && exec \"$0\" --root \"$1\" start \"$3\"";

  private final Path directory;
  private final Path runtime;
  private final List<Path> layers;
  private final String controlGroup;
  private final Json template;
  private final String name;
  private final AtomicInteger counter = new AtomicInteger();

  /** Until when a call waits. */
  private enum Until {
    STARTED,
    ENDED,
    REMOVED
  }

  /**
   * Makes the template of all bundles.
   *
   * @param layers of the image, top first
   */
  public FloorEngine(Path directory, Path runtime, List<Path> layers, String controlGroup)
      throws IOException, InterruptedException {
    this(directory, runtime, layers, controlGroup, "", example(directory, runtime));
  }

  /** With bundles like that one; what it binds has to stay. */
  public FloorEngine(
      Path directory,
      Path runtime,
      List<Path> layers,
      String controlGroup,
      String likeWhat,
      Json template)
      throws IOException {
    this.directory = directory;
    this.runtime = runtime;
    this.layers = layers;
    this.controlGroup = controlGroup + "/floor";
    this.template = template;
    this.name = "conmon+" + runtime.getFileName() + likeWhat;
    for (String part : List.of("state", "exits", "sockets")) {
      Files.createDirectories(fleeting(part));
    }
  }

  /** What the runtime itself writes for a start: few mounts, no filter of system calls. */
  private static Json example(Path directory, Path runtime)
      throws IOException, InterruptedException {
    Path made = Files.createDirectories(directory.resolve("template"));
    Tool.run(Command.of(runtime.toString(), "spec").in(made));
    return JsonText.parse(Files.readAllBytes(made.resolve("config.json")));
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void runTrue() throws Exception {
    String name = "t" + counter.incrementAndGet();
    run(name, List.of("/bin/true"), Until.REMOVED);
    String code = Files.readString(fleeting("exits").resolve(name));
    if (!code.equals("0")) {
      throw new IllegalStateException("true exited with " + code);
    }
    removeBundle(name);
  }

  /** What {@link #startBare} is called in tables. */
  public String bareName() {
    return "bare " + runtime.getFileName() + " create, start";
  }

  /**
   * Has the runtime create and start a container without a monitor.
   *
   * @param directory is mounted at /mark
   * @return when that began: the bundle and its root are made before
   */
  public long startBare(String name, List<String> arguments, Path directory) throws Exception {
    makeBundle(name, arguments);
    Path file = bundle(name).resolve("config.json");
    Json config = JsonText.parse(Files.readAllBytes(file));
    var mounts = new ArrayList<>(config.at("mounts").items());
    mounts.add(
        Json.object()
            .put("destination", "/mark")
            .put("type", "bind")
            .put("source", directory)
            .put("options", List.of("bind", "rw"))
            .build());
    Files.write(file, JsonText.bytes(with(config, "mounts", mounts)));
    long began = System.nanoTime();
    Tool.run("/bin/sh", "-c", BARE, runtime.toString(), state(), bundle(name).toString(), name);
    return began;
  }

  @Override
  public void startSleeper(String name) throws Exception {
    run(name, SLEEP, Until.STARTED);
  }

  @Override
  public void execTrue(String name) throws Exception {
    Tool.run(runtime.toString(), "--root", state(), "exec", name, "/bin/true");
  }

  @Override
  public void remove(String name) throws Exception {
    Tool.run(runtime.toString(), "--root", state(), "delete", "--force", name);
    removeBundle(name);
  }

  @Override
  public void printLog(String name, long bytes) throws Exception {
    run(name, Engine.printing(bytes), Until.ENDED);
  }

  @Override
  public long readLog(String name) throws Exception {
    var buffer = new byte[1 << 20];
    long bytes = 0;
    try (InputStream in = Files.newInputStream(place(name).resolve("log"))) {
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        bytes += count;
      }
    }
    return bytes;
  }

  @Override
  public int list() throws Exception {
    String names = Tool.run(runtime.toString(), "--root", state(), "list", "--quiet");
    return (int) names.lines().filter(line -> !line.isBlank()).count();
  }

  @Override
  public Path home() {
    return directory;
  }

  @Override
  public void inspect(String name) throws Exception {
    Tool.run(runtime.toString(), "--root", state(), "state", name);
  }

  @Override
  public void stats(String name) throws Exception {
    Tool.run(runtime.toString(), "--root", state(), "events", "--stats", name);
  }

  @Override
  public double memory() {
    return Census.memory(line -> line.contains("conmon") && line.contains(directory.toString()));
  }

  private void run(String name, List<String> arguments, Until until) throws Exception {
    makeBundle(name, arguments);
    Path bundle = bundle(name);
    var command = new ArrayList<>(List.of("/bin/sh", "-c", CREATE_AND_START, "floor"));
    command.addAll(
        List.of(
            runtime.toString(), state(), name, until.name().toLowerCase(java.util.Locale.ROOT)));
    command.addAll(List.of("/usr/bin/conmon", "--api-version", "1", "-c", name, "-u", name));
    command.addAll(List.of("-n", name, "-r", runtime.toString(), "-b", bundle.toString()));
    command.addAll(List.of("-p", bundle.resolve("pid").toString()));
    command.addAll(List.of("-l", "k8s-file:" + place(name).resolve("log")));
    command.addAll(List.of("--exit-dir", fleeting("exits").toString()));
    command.addAll(List.of("--socket-dir-path", fleeting("sockets").toString()));
    command.addAll(List.of("--full-attach", "--log-level", "error"));
    command.addAll(List.of("--runtime-arg", "--root=" + state()));
    String told = Tool.run(Command.of(command).withEnv(Map.of("_OCI_SYNCPIPE", "3")));
    Json answer = JsonText.parse(told.lines().findFirst().orElse("{}"));
    if (answer.at("data").integer().orElse(-1L) < 0) {
      throw new IllegalStateException("conmon: " + told.strip());
    }
  }

  private void makeBundle(String name, List<String> arguments) throws IOException {
    Path place = place(name);
    for (String part : List.of("upper", "work", "root")) {
      Files.createDirectories(place.resolve(part));
    }
    Path root = place.resolve("root");
    OverlayMount.mount(layers, place.resolve("upper"), place.resolve("work"), root);
    Json process = with(with(template.at("process"), "args", arguments), "terminal", false);
    Json linux = with(template.at("linux"), "cgroupsPath", controlGroup + "/" + name);
    Json config = with(with(template, "process", process), "linux", linux);
    config = with(config, "root", Json.object().put("path", root).put("readonly", false).build());
    Path bundle = Files.createDirectories(bundle(name));
    Files.write(bundle.resolve("config.json"), JsonText.bytes(config));
  }

  private static Json with(Json json, String member, Object value) {
    var members = new LinkedHashMap<>(json.members());
    members.put(member, Json.of(value));
    return new Json.Obj(members);
  }

  private void removeBundle(String name) throws IOException {
    Mounts.unmount(place(name).resolve("root"));
    Trees.delete(place(name));
    Trees.delete(bundle(name));
    Files.deleteIfExists(fleeting("exits").resolve(name));
  }

  private Path bundle(String name) {
    return fleeting("bundles").resolve(name);
  }

  /** What has to be on a disk. */
  private Path place(String name) {
    return directory.resolve("containers").resolve(name);
  }

  private Path fleeting(String part) {
    return Tool.fleeting(directory).resolve(part);
  }

  private String state() {
    return fleeting("state").toString();
  }

  @Override
  public void close() {
    // every container is removed by whoever made it; the directory goes with the run
  }
}
