package dev.zlayer.runtime.cni;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Environments;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Runs chains of CNI plugins (specification 1.0.0, sections 2 to 4). A chain is a list of plugin
 * configurations; each gets the result of the one before it, deletion goes in reverse.
 */
final class Cni {
  static final String VERSION = "1.0.0";

  /** How an address ends that has the size of its network. */
  private static final String PREFIXED = "/[0-9]{1,3}";

  static final String CONTAINER_ID = "CNI_CONTAINERID";

  /** What a plugin acts on. */
  record Target(String containerId, String netns, String interfaceName) {
    /** For deleting when the namespace is gone already, which the specification allows. */
    Target withoutNamespace() {
      return new Target(containerId, "", interfaceName);
    }
  }

  private final List<Path> directories;
  private final Duration timeout;

  Cni(List<Path> directories, Duration timeout) {
    this.directories = List.copyOf(directories);
    this.timeout = timeout;
  }

  /** The result of the last plugin. */
  Json add(Target target, List<Json> chain) throws InterruptedException {
    Json result = Json.Null.INSTANCE;
    for (Json plugin : chain) {
      result = result(plugin, run("ADD", target, plugin, result));
    }
    return result;
  }

  /** Fails when what an earlier add made is not there any more. */
  void check(Target target, List<Json> chain, Json result) throws InterruptedException {
    for (Json plugin : chain) {
      run("CHECK", target, plugin, result);
    }
  }

  void delete(Target target, List<Json> chain, Json result) throws InterruptedException {
    for (Json plugin : chain.reversed()) {
      run("DEL", target, plugin, result);
    }
  }

  private CommandResult run(String verb, Target target, Json plugin, Json previous)
      throws InterruptedException {
    String type = type(plugin);
    Command command =
        Command.of(find(type).toString())
            .withEnv(
                Map.of(
                    "CNI_COMMAND",
                    verb,
                    CONTAINER_ID,
                    target.containerId(),
                    "CNI_NETNS",
                    target.netns(),
                    "CNI_IFNAME",
                    target.interfaceName(),
                    "CNI_PATH",
                    searchPath()))
            .withInput(configuration(plugin, previous));
    CommandResult result = Processes.run(command, Deadline.after(timeout));
    if (!result.success()) {
      throw new AgentException.Network(
          "cni plugin %s exited with %d on %s: %s"
              .formatted(type, result.code(), verb, reason(result)));
    }
    return result;
  }

  /**
   * Ends the plugins that an earlier agent started for these containers and did not live to see
   * end.
   */
  static void endPlugins(Set<String> containerIds) {
    if (containerIds.isEmpty()) {
      return;
    }
    List<ProcessHandle> orphans = Environments.having(CONTAINER_ID, Set.copyOf(containerIds));
    orphans.forEach(ProcessHandle::destroyForcibly);
    for (ProcessHandle orphan : orphans) {
      // bounded: one that nobody reaps counts as alive for ever
      orphan.onExit().completeOnTimeout(orphan, 2, TimeUnit.SECONDS).join();
    }
  }

  private static byte[] configuration(Json plugin, Json previous) {
    var members = new LinkedHashMap<String, Json>(plugin.members());
    members.put("cniVersion", Json.of(VERSION));
    if (!previous.isNull()) {
      members.put("prevResult", previous);
    }
    return JsonText.bytes(new Json.Obj(members));
  }

  static Json result(Json plugin, CommandResult printed) {
    Json result = parse(printed.stdout());
    if (!(result instanceof Json.Obj) || result.at("cniVersion").isNull()) {
      throw new AgentException.Network(
          "cni plugin %s exited with 0 on ADD but printed no result: %s"
              .formatted(type(plugin), printed.lastLine()));
    }
    for (Json ip : result.at("ips").items()) {
      requireAddress(plugin, ip.at("address").string(), PREFIXED);
      requireAddress(plugin, ip.at("gateway").string(), "");
    }
    return result;
  }

  private static void requireAddress(Json plugin, Optional<String> printed, String end) {
    if (printed.isEmpty()) {
      return;
    }
    String text = printed.get();
    try {
      InetAddress _ = InetAddress.ofLiteral(text.replaceFirst(end + "$", ""));
      if (end.isEmpty() || text.matches(".*" + end)) {
        return;
      }
    } catch (IllegalArgumentException _) {
      // said below
    }
    throw new AgentException.Network(
        "cni plugin %s printed '%s' where an address is expected"
            .formatted(type(plugin), text.length() > 80 ? text.substring(0, 80) : text));
  }

  /** A failed plugin prints an object with a message; a broken one whatever it likes. */
  private static String reason(CommandResult printed) {
    Json error = parse(printed.stdout());
    return error
        .at("msg")
        .string()
        .map(text -> error.at("details").string().map(more -> text + ": " + more).orElse(text))
        .orElseGet(printed::lastLine);
  }

  private static Json parse(String text) {
    try {
      return JsonText.parse(text);
    } catch (AgentException.InvalidSpec _) {
      return Json.Null.INSTANCE;
    }
  }

  private static String type(Json plugin) {
    return plugin.at("type").string().orElse("without a type");
  }

  private Path find(String type) {
    return directories.stream()
        .map(directory -> directory.resolve(type))
        .filter(Files::isExecutable)
        .findFirst()
        .orElseThrow(
            () ->
                new AgentException.Configuration(
                    "cni plugin %s is not in %s: install containernetworking-plugins"
                        .formatted(type, searchPath())));
  }

  private String searchPath() {
    return directories.stream().map(Path::toString).collect(Collectors.joining(":"));
  }
}
