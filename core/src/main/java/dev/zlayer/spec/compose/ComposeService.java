package dev.zlayer.spec.compose;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** One service of a Compose file, key by key. */
final class ComposeService {
  private static final Map<String, String> SAME =
      Map.ofEntries(
          Map.entry("hostname", "hostname"),
          Map.entry("user", "user"),
          Map.entry("pid", "pid_mode"),
          Map.entry("ipc", "ipc_mode"),
          Map.entry("userns_mode", "userns_mode"),
          Map.entry("cgroup_parent", "cgroup_parent"),
          Map.entry("stop_signal", "stop_signal"),
          Map.entry("stop_grace_period", "stop_grace_period"));
  private static final Map<String, String> FLAGS =
      Map.of(
          "read_only", "read_only_root_fs",
          "privileged", "privileged",
          "tty", "tty",
          "stdin_open", "stdin_open",
          "init", "init_container");
  private static final Map<String, String> LISTS =
      Map.of(
          "cap_add", "capabilities",
          "cap_drop", "cap_drop",
          "group_add", "extra_groups",
          "dns", "dns",
          "expose", "expose");
  private static final Map<String, String> SIZES =
      Map.of(
          "mem_limit", "memory",
          "mem_reservation", "memory_reservation",
          "memswap_limit", "memory_swap");
  private static final Map<String, String> NUMBERS =
      Map.of(
          "cpu_shares", "cpu_shares",
          "pids_limit", "pids_limit",
          "mem_swappiness", "memory_swappiness",
          "oom_score_adj", "oom_score_adj");
  private static final Map<String, String> REASONS =
      Map.ofEntries(
          Map.entry("shm_size", "/dev/shm has a fixed size of 64Mi"),
          Map.entry("network_mode", "only host, none and bridge have a counterpart"),
          Map.entry("links", "services reach each other by their names; aliases do not exist"),
          Map.entry("external_links", "containers of other deployments are not reachable by name"),
          Map.entry("volumes_from", "name the volumes of the other service"),
          Map.entry("logging", "only json-file and local with max-size have a counterpart"),
          Map.entry("dns_search", "search domains cannot be set"),
          Map.entry("domainname", "domain names cannot be set"),
          Map.entry("gpus", "write resources.gpu into the converted file"),
          Map.entry("post_start", "use init steps in the converted file"),
          Map.entry("pre_stop", "stop hooks do not exist"));

  private final ComposeScope scope;
  private final String name;
  private final YamlNode.Mapping node;
  private final SpecPath path;
  private final boolean job;
  private final Map<String, Object> out = new LinkedHashMap<>();
  private final Map<String, Object> command = new LinkedHashMap<>();
  private final Map<String, Object> resources = new LinkedHashMap<>();
  private final Map<String, Object> environment = new LinkedHashMap<>();
  private final ComposePorts ports;
  private final ComposeMounts mounts;

  /** {@code job}: others wait until it has completed. */
  ComposeService(ComposeScope scope, String name, YamlNode.Mapping node, boolean job) {
    this.scope = scope;
    this.name = name;
    this.node = node;
    this.path = SpecPath.ROOT.key("services").key(name);
    this.job = job;
    this.ports = new ComposePorts(scope, job);
    this.mounts = new ComposeMounts(scope);
  }

  Map<String, Object> convert() {
    if (job) {
      out.put("rtype", "job");
    }
    node.find("env_file").ifPresent(entry -> envFiles(entry.value(), path.key("env_file")));
    for (YamlNode.Entry entry : node.entries()) {
      SpecPath at = path.key(entry.key().text());
      try {
        key(entry.key().text(), entry.value(), at);
      } catch (AgentException.InvalidSpec e) {
        scope.unsupported(entry.value(), at, Words.reason(e));
      }
    }
    if (node.find("image").isEmpty() && node.find("build").isEmpty()) {
      scope.unsupported(node, path, "the service has no image");
    }
    section("command", command);
    section("env", environment);
    section("resources", resources);
    ports.into(out);
    mounts.into(out);
    if (!job) {
      out.putIfAbsent("scale", fixed(1));
      out.putIfAbsent("restart_policy", Words.map("kind", "no"));
    }
    return out;
  }

  private void section(String key, Map<String, Object> values) {
    if (!values.isEmpty()) {
      out.put(key, values);
    }
  }

  private void key(String key, YamlNode value, SpecPath at) {
    if (SAME.containsKey(key)) {
      out.put(SAME.get(key), scope.text(value));
    } else if (FLAGS.containsKey(key)) {
      out.put(FLAGS.get(key), scope.text(value).equalsIgnoreCase("true"));
    } else if (LISTS.containsKey(key)) {
      out.put(LISTS.get(key), scope.texts(value));
    } else if (SIZES.containsKey(key)) {
      String text = scope.text(value);
      resources.put(SIZES.get(key), text.equals("-1") ? -1 : Words.size(text));
    } else if (NUMBERS.containsKey(key)) {
      resources.put(NUMBERS.get(key), number(scope.text(value)));
    } else {
      special(key, value, at);
    }
  }

  private void special(String key, YamlNode value, SpecPath at) {
    switch (key) {
      case "image" -> image().put("name", scope.text(value));
      case "build" -> build(value, at);
      case "pull_policy" -> pullPolicy(scope.text(value), value, at);
      case "platform" -> platform(scope.text(value), value, at);
      case "command" -> words(value).ifPresent(words -> command.put("args", words));
      case "entrypoint" -> words(value).ifPresent(words -> command.put("entrypoint", words));
      case "working_dir" -> command.put("workdir", scope.text(value));
      case "environment" -> environment(value, at);
      case "env_file", "profiles", "networks" -> {} // read before
      case "labels" -> {
        var labels = new LinkedHashMap<String, Object>();
        scope.pairs(value, at).forEach((name, text) -> labels.put(name, text.orElse("")));
        section("labels", labels);
      }
      case "ports" -> ports.convert(value, at);
      case "volumes" -> mounts.volumes(value, at);
      case "tmpfs" -> mounts.tmpfs(value, at);
      case "configs" -> mounts.configs(value, at);
      case "secrets" -> mounts.secrets(value, at);
      case "depends_on" -> dependsOn(value, at);
      case "healthcheck" -> health(value, at);
      case "restart" -> restart(scope.text(value), value, at);
      case "scale" -> out.put("scale", fixed(number(scope.text(value))));
      case "deploy" -> new ComposeDeploy(scope, out, resources, job).convert(value, at);
      case "cpus" -> resources.put("cpu", decimal(scope.text(value)));
      case "cpuset" -> resources.put("cpuset", scope.text(value));
      case "oom_kill_disable" ->
          resources.put("oom_kill_disable", scope.text(value).equalsIgnoreCase("true"));
      case "ulimits" -> ulimits(value, at);
      case "sysctls" -> {
        var sysctls = new LinkedHashMap<String, Object>();
        scope.pairs(value, at).forEach((name, text) -> sysctls.put(name, text.orElse("")));
        section("sysctls", sysctls);
      }
      case "extra_hosts" -> extraHosts(value, at);
      case "devices" -> devices(value, at);
      case "security_opt" ->
          out.put(
              "security_opt",
              scope.texts(value).stream()
                  .map(text -> text.startsWith("no-new") ? text : text.replaceFirst(":", "="))
                  .toList());
      case "network_mode" -> {
        String mode = scope.text(value);
        if (Set.of("host", "none").contains(mode)) {
          out.put("network_mode", mode);
        } else if (!mode.equals("bridge")) {
          scope.unsupported(value, at, reason(key));
        }
      }
      case "links" -> {
        if (scope.texts(value).stream().anyMatch(link -> link.contains(":"))) {
          scope.unsupported(value, at, reason(key));
        }
      }
      case "logging" -> logging(value, at);
      case "container_name" ->
          scope.warn(value, at, "containers are named deployment/service/replica");
      case "attach", "annotations", "label_file", "develop" ->
          scope.warn(value, at, "has no effect here");
      default -> {
        if (!key.startsWith("x-")) {
          scope.unsupported(value, at, reason(key));
        }
      }
    }
  }

  private static String reason(String key) {
    return REASONS.getOrDefault(key, "is not supported");
  }

  private Map<String, Object> image() {
    @SuppressWarnings("unchecked") // nothing else is put there
    var image = (Map<String, Object>) out.computeIfAbsent("image", _ -> new LinkedHashMap<>());
    return image;
  }

  /** The image as Compose would call it; somebody has to build it. */
  private void build(YamlNode value, SpecPath at) {
    String image =
        node.find("image")
            .map(entry -> scope.text(entry.value()))
            .orElse(scope.deployment() + "-" + name);
    image().putIfAbsent("name", image);
    Optional<YamlNode.Mapping> parts =
        value instanceof YamlNode.Mapping mapping ? Optional.of(mapping) : Optional.empty();
    String context = parts.isEmpty() ? scope.text(value) : part(parts.get(), "context").orElse(".");
    String file =
        parts
            .flatMap(found -> part(found, "dockerfile"))
            .map(name -> " -f %s/%s".formatted(context, name))
            .orElse("");
    scope.warn(
        value,
        at,
        "'up' does not build images; build it before: zlayer build -t %s%s %s"
            .formatted(image, file, context));
  }

  private Optional<String> part(YamlNode.Mapping mapping, String key) {
    return mapping.find(key).map(entry -> scope.text(entry.value()));
  }

  private void pullPolicy(String policy, YamlNode value, SpecPath at) {
    switch (policy) {
      case "always", "never", "if_not_present" -> image().put("pull_policy", policy);
      case "missing" -> image().put("pull_policy", "if_not_present");
      default -> scope.unsupported(value, at, "write always, missing or never");
    }
  }

  private void platform(String platform, YamlNode value, SpecPath at) {
    String[] parts = platform.split("/", -1);
    if (parts[0].equals("wasi")) {
      return; // a module says itself what it is
    }
    if (parts.length == 2) {
      out.put("platform", Words.map("os", parts[0], "arch", parts[1]));
    } else {
      scope.unsupported(value, at, "write OS/ARCH, e.g. linux/amd64");
    }
  }

  /** Nothing for null, which means what the image says. */
  private Optional<List<String>> words(YamlNode value) {
    if (value.isNull()) {
      return Optional.empty();
    }
    return Optional.of(
        value instanceof YamlNode.Sequence ? scope.texts(value) : Words.split(scope.text(value)));
  }

  private void environment(YamlNode value, SpecPath at) {
    scope
        .pairs(value, at)
        .forEach(
            (name, text) ->
                text.or(() -> scope.variable(name))
                    .ifPresent(found -> environment.put(name, Words.literal(found))));
  }

  private void envFiles(YamlNode value, SpecPath at) {
    List<YamlNode> files =
        value instanceof YamlNode.Sequence(_, var items) ? items : List.of(value);
    for (YamlNode file : files) {
      boolean required = true;
      String name = scope.text(file);
      if (file instanceof YamlNode.Mapping mapping) {
        name = mapping.find("path").map(entry -> scope.text(entry.value())).orElse("");
        required = mapping.find("required").isEmpty() || scope.isTrue(mapping, "required");
      }
      Optional<String> content = scope.file(name);
      if (content.isPresent()) {
        Interpolation.lines(content.get(), scope.environment())
            .forEach((key, text) -> environment.put(key, Words.literal(text)));
      } else if (required) {
        scope.unsupported(file, at, "file '%s' does not exist".formatted(name));
      }
    }
  }

  private void dependsOn(YamlNode value, SpecPath at) {
    var depends = new ArrayList<Map<String, Object>>();
    if (value instanceof YamlNode.Mapping mapping) {
      for (YamlNode.Entry entry : mapping.entries()) {
        String condition = "service_started";
        if (entry.value() instanceof YamlNode.Mapping settings) {
          condition =
              settings.find("condition").map(one -> scope.text(one.value())).orElse(condition);
          if (scope.isTrue(settings, "restart")) {
            scope.warn(
                entry.value(),
                at.key(entry.key().text()).key("restart"),
                "dependents are not restarted with their dependency");
          }
        }
        depends.add(depend(entry.key().text(), condition, entry.value(), at));
      }
    } else {
      scope.texts(value).forEach(name -> depends.add(depend(name, "service_started", value, at)));
    }
    out.put("depends", depends);
  }

  private Map<String, Object> depend(String name, String condition, YamlNode value, SpecPath at) {
    var one = new LinkedHashMap<String, Object>();
    one.put("service", name);
    switch (condition) {
      case "service_started" -> one.put("condition", "started");
      case "service_healthy" -> one.put("condition", "healthy");
      case "service_completed_successfully" -> one.put("condition", "completed");
      default ->
          scope.unsupported(value, at.key(name), "unknown condition '%s'".formatted(condition));
    }
    return one;
  }

  private void health(YamlNode value, SpecPath at) {
    if (!(value instanceof YamlNode.Mapping settings)) {
      scope.unsupported(value, at, "a health check is a mapping");
      return;
    }
    var health = new LinkedHashMap<String, Object>();
    if (scope.isTrue(settings, "disable")) {
      health.put("check", Words.map("type", "none"));
    }
    health.put("interval", "30s"); // as Docker's, unless the file says otherwise
    health.put("timeout", "30s");
    health.put("start_grace", "0s");
    health.put("on_unhealthy", "none");
    for (YamlNode.Entry entry : settings.entries()) {
      String text = scope.text(entry.value());
      switch (entry.key().text()) {
        case "test" -> health.put("check", check(entry.value()));
        case "interval" -> health.put("interval", text);
        case "timeout" -> health.put("timeout", text);
        case "start_period" -> health.put("start_grace", text);
        case "retries" -> health.put("retries", number(text));
        case "disable" -> {}
        default ->
            scope.unsupported(
                entry.value(), at.key(entry.key().text()), "is not a setting of a health check");
      }
    }
    if (health.containsKey("check")) {
      out.put("health", health);
    } else {
      scope.unsupported(value, at, "the image's own health check is not known; write 'test'");
    }
  }

  private Map<String, Object> check(YamlNode test) {
    if (!(test instanceof YamlNode.Sequence)) {
      return Words.map("type", "command", "command", scope.text(test));
    }
    List<String> words = scope.texts(test);
    String kind = words.isEmpty() ? "NONE" : words.getFirst();
    List<String> rest = words.isEmpty() ? words : words.subList(1, words.size());
    return switch (kind) {
      case "NONE" -> Words.map("type", "none");
      case "CMD" -> Words.map("type", "command", "command", rest);
      case "CMD-SHELL" -> Words.map("type", "command", "command", String.join(" ", rest));
      default -> throw new AgentException.InvalidSpec("a test begins with NONE, CMD or CMD-SHELL");
    };
  }

  private void restart(String text, YamlNode value, SpecPath at) {
    if (job) {
      return; // a job is retried by its own settings
    }
    var policy = new LinkedHashMap<String, Object>();
    String[] parts = text.split(":", 2);
    switch (parts[0]) {
      case "no", "always" -> policy.put("kind", parts[0]);
      case "unless-stopped" -> policy.put("kind", "unless_stopped");
      case "on-failure" -> {
        policy.put("kind", "on_failure");
        if (parts.length == 2) {
          policy.put("max_attempts", number(parts[1]));
        }
      }
      default -> scope.unsupported(value, at, "write no, always, on-failure[:N] or unless-stopped");
    }
    out.put("restart_policy", policy);
  }

  private void ulimits(YamlNode value, SpecPath at) {
    if (!(value instanceof YamlNode.Mapping mapping)) {
      scope.unsupported(value, at, "ulimits are a mapping");
      return;
    }
    var limits = new LinkedHashMap<String, Object>();
    for (YamlNode.Entry entry : mapping.entries()) {
      if (entry.value() instanceof YamlNode.Mapping bounds) {
        var limit = new LinkedHashMap<String, Object>();
        bounds
            .entries()
            .forEach(one -> limit.put(one.key().text(), number(scope.text(one.value()))));
        limits.put(entry.key().text(), limit);
      } else {
        limits.put(entry.key().text(), number(scope.text(entry.value())));
      }
    }
    section("ulimits", limits);
  }

  private void extraHosts(YamlNode value, SpecPath at) {
    var hosts = new ArrayList<String>();
    if (value instanceof YamlNode.Mapping) {
      scope.pairs(value, at).forEach((host, ip) -> hosts.add(host + ":" + ip.orElse("")));
    } else {
      scope.texts(value).forEach(text -> hosts.add(text.replaceFirst("=", ":")));
    }
    out.put("extra_hosts", hosts);
  }

  private void devices(YamlNode value, SpecPath at) {
    var devices = new ArrayList<Map<String, Object>>();
    for (String text : scope.texts(value)) {
      String[] parts = text.split(":", -1);
      if (parts.length > 1 && !parts[1].equals(parts[0])) {
        scope.unsupported(value, at, "a device keeps its path in the container");
        continue;
      }
      String rights = parts.length > 2 ? parts[2] : "rwm";
      var device = new LinkedHashMap<String, Object>();
      device.put("path", parts[0]);
      device.put("read", rights.contains("r"));
      device.put("write", rights.contains("w"));
      device.put("mknod", rights.contains("m"));
      devices.add(device);
    }
    out.put("devices", devices);
  }

  private void logging(YamlNode value, SpecPath at) {
    Map<String, Optional<String>> options = Map.of();
    String driver = "json-file";
    if (value instanceof YamlNode.Mapping mapping) {
      driver = mapping.find("driver").map(entry -> scope.text(entry.value())).orElse(driver);
      options =
          mapping
              .find("options")
              .map(entry -> scope.pairs(entry.value(), at.key("options")))
              .orElse(Map.of());
    }
    if (!Set.of("json-file", "local").contains(driver)
        || !Set.of("max-size", "max-file").containsAll(options.keySet())) {
      scope.unsupported(value, at, reason("logging"));
    } else if (options.containsKey("max-size")) {
      out.put("logs", Words.map("max_size_bytes", Words.size(options.get("max-size").orElse(""))));
    }
  }

  private static Map<String, Object> fixed(long replicas) {
    var scale = new LinkedHashMap<String, Object>();
    scale.put("mode", "fixed");
    scale.put("replicas", replicas);
    return scale;
  }

  static long number(String text) {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException _) {
      throw new AgentException.InvalidSpec("'%s' is not a whole number".formatted(text));
    }
  }

  static double decimal(String text) {
    try {
      return Double.parseDouble(text);
    } catch (NumberFormatException _) {
      throw new AgentException.InvalidSpec("'%s' is not a number".formatted(text));
    }
  }
}
