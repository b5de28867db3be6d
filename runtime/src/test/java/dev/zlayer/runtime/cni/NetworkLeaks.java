package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.linux.Links;
import dev.zlayer.host.linux.Namespaces;
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
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.random.RandomGenerator;
import org.awaitility.Awaitility;

/**
 * What networks of one prefix have left on this host. A test takes a configuration from {@link
 * #config}, asks {@link #assertOnly} when it is done, and calls {@link #destroy} at its end, also
 * when it failed.
 */
public final class NetworkLeaks {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final NetworkConfig config;

  public NetworkLeaks(NetworkConfig config) {
    this.config = config;
  }

  /** A configuration whose names and addresses no other test uses. */
  public static NetworkConfig config(Path directory) {
    RandomGenerator random = RandomGenerator.getDefault();
    var prefix = new StringBuilder("zt");
    for (int letter = 0; letter < 8; letter++) {
      prefix.append((char) ('a' + random.nextInt(26)));
    }
    Subnet range =
        Subnet.parse("10.%d.%d.0/19".formatted(100 + random.nextInt(100), 32 * random.nextInt(8)));
    return NetworkConfig.of(directory.resolve("run"), directory.resolve("state"))
        .withPrefix(prefix.toString(), range);
  }

  /** Namespaces, by their files. */
  public List<String> namespaces() throws IOException {
    return fileNames(config.namespaces());
  }

  /** Records of slots that are not held by a container, as phase/id. */
  public List<String> unheldRecords() throws IOException {
    var records = new ArrayList<String>();
    for (String phase : List.of("making", "ready", "leaving")) {
      fileNames(config.attachments().resolve(phase))
          .forEach(name -> records.add(phase + "/" + name));
    }
    return records;
  }

  /** The names of the containers that hold a slot. */
  public List<String> holders() throws IOException {
    return fileNames(config.attachments().resolve("held")).stream()
        .map(name -> name.replaceFirst("(@.*)?\\.json$", ""))
        .sorted()
        .toList();
  }

  public List<String> bridges() throws IOException {
    return Links.names().stream().filter(name -> name.matches(config.prefix() + "\\d+")).toList();
  }

  /** The host's ends of the cables on our bridges. */
  public List<String> cables() throws IOException, InterruptedException {
    var cables = new ArrayList<String>();
    for (String bridge : bridges()) {
      for (Json link : json("ip", "-j", "link", "show", "master", bridge).items()) {
        link.at("ifname").string().ifPresent(cables::add);
      }
    }
    return cables;
  }

  public List<String> addresses() throws IOException {
    return new Addresses(config.addresses()).given().stream().map(Addresses.Given::ip).toList();
  }

  /** The published ports in our table, as map and element. */
  public List<String> publishedPorts() throws InterruptedException {
    var ports = new ArrayList<String>();
    for (Json item :
        json("nft", "-j", "list", "table", "ip", config.prefix()).at("nftables").items()) {
      Json map = item.at("map");
      for (Json element : map.at("elem").items()) {
        ports.add(map.at("name").string().orElseThrow() + " " + JsonText.print(element));
      }
    }
    return ports;
  }

  /** Whether our table is there at all. */
  public boolean hasTable() throws InterruptedException {
    return run("nft", "list", "table", "ip", config.prefix()).success();
  }

  /**
   * Fails unless exactly these containers have one namespace each, and as many cables and addresses
   * as said are in use. The kernel takes interfaces down with a delay, for which this waits.
   */
  public void assertOnly(Set<String> holders, int connected, int ports) {
    Awaitility.await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> {
              assertThat(unheldRecords()).as("records of slots nobody holds").isEmpty();
              assertThat(holders()).as("holders").containsExactlyElementsOf(new TreeSet<>(holders));
              assertThat(namespaces()).as("namespaces").hasSize(holders.size());
              assertThat(cables()).as("cables").hasSize(connected);
              assertThat(addresses()).as("addresses").hasSize(connected);
              assertThat(publishedPorts()).as("published ports").hasSize(ports);
            });
  }

  public void assertNone() {
    assertOnly(Set.of(), 0, 0);
  }

  /** Removes everything of this prefix, whatever state it is in. */
  public void destroy() throws IOException, InterruptedException {
    for (String name : namespaces()) {
      Namespaces.delete(config.namespaces().resolve(name));
    }
    for (String bridge : bridges()) {
      Links.delete(bridge);
    }
    if (hasTable()) {
      run("nft", "delete", "table", "ip", config.prefix());
      run("nft", "delete", "table", "bridge", config.prefix());
    }
  }

  private static List<String> fileNames(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      return List.of();
    }
    try (var files = Files.list(directory)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  private static Json json(String... command) throws InterruptedException {
    CommandResult result = run(command);
    return result.success() && !result.stdout().isBlank()
        ? JsonText.parse(result.stdout())
        : Json.Null.INSTANCE;
  }

  private static CommandResult run(String... command) throws InterruptedException {
    return Processes.run(Command.of(command), Deadline.after(LIMIT));
  }
}
