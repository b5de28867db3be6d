package dev.zlayer.daemon;

import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.linux.Links;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.HostLeaks;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * What is left on the machine of containers and networks of a node without prepared namespaces,
 * whether or not its daemon serves.
 */
record NodeLeaks(Node node) {
  List<String> find() throws IOException, InterruptedException {
    DataDir dirs = DataDir.under(node.directory);
    var found = new ArrayList<>(new HostLeaks(node.directory, dirs.tag()).find());
    // the agent's own place for secrets stays, what is in it does not
    found.remove("mount " + dirs.secretFiles());
    Links.names().stream()
        .filter(name -> name.matches(node.prefix + "\\d+"))
        .forEach(name -> found.add("bridge " + name));
    files(dirs.networkRun().resolve("netns")).forEach(file -> found.add("namespace " + file));
    files(dirs.networkRun().resolve("attachments")).forEach(file -> found.add("slot " + file));
    files(dirs.networkRun().resolve("addresses")).stream()
        .filter(file -> Character.isDigit(file.getFileName().toString().charAt(0)))
        .forEach(file -> found.add("address " + file));
    files(dirs.secretFiles()).forEach(file -> found.add("secret " + file));
    for (String table : List.of(node.prefix, node.prefix + "_endpoints")) {
      rules(table).forEach(rule -> found.add("rule of " + table + " " + rule));
    }
    return found;
  }

  private static List<Path> files(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      return List.of();
    }
    try (var files = Files.walk(directory)) {
      return files.filter(Files::isRegularFile).toList();
    } catch (UncheckedIOException e) {
      if (e.getCause() instanceof NoSuchFileException) {
        return files(directory); // something went away meanwhile
      }
      throw e;
    }
  }

  /** Ports that lead somewhere, names that are answered, addresses that are let through. */
  private static List<String> rules(String table) throws InterruptedException {
    CommandResult listed =
        Processes.run(
            Command.of("nft", "-j", "list", "table", "ip", table),
            Deadline.after(Duration.ofSeconds(20)));
    if (listed.stderr().contains("No such file or directory")) {
      return List.of(); // without a table there are none
    }
    var rules = new ArrayList<String>();
    for (Json item : JsonText.parse(listed.stdout()).at("nftables").items()) {
      item.at("map").at("elem").items().forEach(one -> rules.add(JsonText.print(one)));
      item.at("set").at("elem").items().forEach(one -> rules.add(JsonText.print(one)));
      item.at("chain")
          .at("name")
          .string()
          .filter(name -> name.startsWith("endpoint_"))
          .ifPresent(rules::add);
      if (item.at("rule").at("chain").string().orElse("").equals("names")) {
        rules.add(JsonText.print(item.at("rule")));
      }
    }
    return rules;
  }
}
