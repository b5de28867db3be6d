package dev.zlayer.daemon;

import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.json.Json;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A daemon in this process with clients of Docker on its socket: its own command line, and one that
 * sends what a test wants. Registered as an extension of a test class it is open while the class
 * runs, and cleared after each test.
 */
final class DockerNode
    implements AutoCloseable, BeforeAllCallback, AfterEachCallback, AfterAllCallback {
  private final DockerCli docker = new DockerCli(() -> node().dockerSocket(), this::configuration);
  private final DockerWire wire = new DockerWire(() -> node().dockerSocket());
  private @Nullable OpenNode node;
  private @Nullable Path configuration;

  /**
   * Opens one that has an image; the caller closes it.
   *
   * @param configuration where the command line keeps its own
   */
  static DockerNode open(Path configuration) throws Exception {
    var opened = new DockerNode();
    opened.configuration = configuration;
    opened.begin();
    return opened;
  }

  private void begin() throws Exception {
    node = OpenNode.open();
  }

  /** Usable while it is open. */
  DockerWire wire() {
    return wire;
  }

  OpenNode node() {
    return Objects.requireNonNull(node, "it is not open");
  }

  private Path configuration() {
    return Objects.requireNonNull(configuration, "it is not open");
  }

  /** Usable while it is open. */
  DockerCli docker() {
    return docker;
  }

  /** Removes all containers, networks and volumes, for the next test. */
  void clear() throws Exception {
    for (Json one : wire().send("GET", "/containers/json?all=1").json().items()) {
      wire().send("DELETE", "/containers/" + one.at("Id").string().orElseThrow() + "?force=1");
    }
    wire().post("/networks/prune", "");
    for (Json one : wire().send("GET", "/volumes").json().at("Volumes").items()) {
      wire().send("DELETE", "/volumes/" + one.at("Name").string().orElseThrow());
    }
  }

  @Override
  public void beforeAll(ExtensionContext context) throws Exception {
    configuration = Files.createTempDirectory("docker-config");
    begin();
  }

  @Override
  public void afterEach(ExtensionContext context) throws Exception {
    clear();
  }

  @Override
  public void afterAll(ExtensionContext context) throws Exception {
    close();
    RootedDirectory.removeTree(configuration());
  }

  @Override
  public void close() throws Exception {
    wire.close();
    if (node != null) {
      node.close();
    }
  }
}
