package dev.zlayer.runtime.oci.config;

import dev.zlayer.container.TerminalSize;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.UnixPath;
import dev.zlayer.json.Json;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The whole of config.json, and the two ways in which a written one is changed later. */
public final class BundleConfig {
  /** Without any of its own a hook may inherit those of the image, LD_PRELOAD among them. */
  private static final List<String> HOOK_ENVIRONMENT =
      List.of("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");

  /** Annotations that crun, runc and CRIU read: handlers, hooks, filters, properties of units. */
  private static final List<String> RUNTIME_SETTINGS =
      List.of("run.oci.", "org.systemd.property.", "org.criu.");

  /** Begins labels that are annotations for the OCI runtime and nothing else. */
  public static final String ANNOTATION = "com.zlayer.annotation.";

  private BundleConfig() {}

  /** Whether an annotation of that name is a setting of the OCI runtime. */
  public static boolean isRuntimeSetting(String annotation) {
    return RUNTIME_SETTINGS.stream().anyMatch(annotation::startsWith);
  }

  /** A terminal's size in the words of OCI. */
  public static Json consoleSize(TerminalSize size) {
    return Json.object().put("height", size.rows()).put("width", size.columns()).build();
  }

  public static Json of(BundleInput input) {
    var config =
        Json.object()
            .put("ociVersion", "1.0.2")
            .put("process", OciProcess.of(input))
            .put(
                "root",
                Json.object()
                    .put("path", UnixPath.text(input.root()))
                    .put("readonly", input.spec().fileSystem().readOnlyRoot())
                    .build());
    if (input.spec().security().uts().isEmpty()) {
      config.put("hostname", input.hostname());
    }
    config.put("mounts", MountsSection.of(input));
    config.put("linux", LinuxSection.of(input));
    config.put("annotations", annotations(input.spec().labels()));
    if (!input.extra().hooks().isEmpty()) {
      config.put("hooks", hooks(input.extra().hooks()));
    }
    return config.build();
  }

  /**
   * Labels say something about a container and change nothing of it, so those that an OCI runtime
   * would take for its own settings stay labels of the agent.
   */
  private static Map<String, String> annotations(Map<String, String> labels) {
    var annotations = new TreeMap<String, String>();
    labels.forEach(
        (name, value) ->
            annotations.put(
                name.startsWith(ANNOTATION) ? name.substring(ANNOTATION.length()) : name, value));
    annotations.keySet().removeIf(BundleConfig::isRuntimeSetting);
    return annotations;
  }

  /**
   * A working directory in /proc could be a descriptor that points out of the container.
   *
   * @throws AgentException.InvalidSpec it is one
   */
  public static void checkWorkdir(String workdir) {
    if (below(workdir, "/proc") || below(workdir, "/dev/fd")) {
      throw new AgentException.InvalidSpec(
          "working directory '%s' is in /proc: use a directory of the image".formatted(workdir));
    }
  }

  /** Whether a path is in a directory, and not the directory itself. */
  public static boolean below(String path, String directory) {
    Path normal = Path.of(path).normalize();
    return normal.startsWith(directory) && !normal.equals(Path.of(directory));
  }

  /** The absolute path in its one form; throws InvalidSpec for what cannot be mounted over. */
  public static String mountTarget(String target) {
    return MountsSection.target(target);
  }

  /** With other limits, device rules kept. */
  public static Json withLimits(Json config, Json limits) {
    var resources = new LinkedHashMap<>(config.at("linux").at("resources").members());
    resources.putAll(limits.members());
    Json used = LinuxResources.withoutEmpty(new Json.Obj(resources));
    return with(config, "linux", with(config.at("linux"), "resources", used));
  }

  /** In the network namespace at that path. */
  public static Json inNetwork(Json config, Path namespace) {
    return inNamespaces(config, Map.of("network", UnixPath.text(namespace)));
  }

  /** Joins namespaces of other processes, whose numbers are only known when a container starts. */
  public static Json joining(Json config, Map<String, Long> pids) {
    var paths = new LinkedHashMap<String, String>();
    pids.forEach(
        (type, pid) ->
            paths.put(type, "/proc/" + pid + "/ns/" + (type.equals("network") ? "net" : type)));
    return inNamespaces(config, paths);
  }

  private static Json inNamespaces(Json config, Map<String, String> paths) {
    var namespaces = new ArrayList<Json>();
    for (Json namespace : config.at("linux").at("namespaces").items()) {
      String type = namespace.at("type").string().orElse("");
      String path = paths.get(type);
      namespaces.add(path == null ? namespace : LinuxSection.namespace(type, Optional.of(path)));
    }
    return with(config, "linux", with(config.at("linux"), "namespaces", new Json.Arr(namespaces)));
  }

  private static Json hooks(List<BundleInput.Hook> hooks) {
    Map<String, List<Json>> points = new LinkedHashMap<>();
    for (BundleInput.Hook hook : hooks) {
      points
          .computeIfAbsent(hook.point(), _ -> new ArrayList<>())
          .add(
              Json.object()
                  .put("path", hook.path())
                  .put("args", hook.args())
                  .put("env", hook.env().isEmpty() ? HOOK_ENVIRONMENT : hook.env())
                  .build());
    }
    return Json.of(points);
  }

  /** The object with one member set. */
  public static Json with(Json object, String name, Json value) {
    var members = new LinkedHashMap<>(object.members());
    members.put(name, value);
    return new Json.Obj(members);
  }
}
