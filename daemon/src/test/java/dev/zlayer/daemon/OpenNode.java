package dev.zlayer.daemon;

import dev.zlayer.host.file.DataDir;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.List;

/** A daemon in this process that has an image, asked over REST. */
final class OpenNode implements AutoCloseable {
  private final Node node;
  private final Daemon daemon;
  private final Rest rest;

  private OpenNode(Node node) throws InterruptedException {
    this.node = node;
    this.daemon = node.daemon();
    this.rest = node.rest();
  }

  static OpenNode open() throws Exception {
    return open(new Node());
  }

  static OpenNode open(Node node) throws Exception {
    OpenNode made;
    try {
      made = new OpenNode(node);
    } catch (InterruptedException | RuntimeException e) {
      node.close();
      throw e;
    }
    try {
      Node.loadImage(made.rest);
      return made;
    } catch (InterruptedException | RuntimeException | AssertionError e) {
      made.close();
      throw e;
    }
  }

  Rest rest() {
    return rest;
  }

  java.nio.file.Path socket() {
    return node.socket();
  }

  DataDir directories() {
    return node.configured().config().directories();
  }

  /** Where clients of Docker reach it. */
  java.nio.file.Path dockerSocket() {
    return node.configured().config().dockerSocketPath().orElseThrow();
  }

  /**
   * Runs a script in a container and returns its id.
   *
   * @param more members of the body and their values as JSON
   */
  String run(String name, String script, String... more) throws Exception {
    var body =
        Json.object()
            .put("name", name)
            .put("image", Node.IMAGE)
            .put("pull", "never")
            .put("command", List.of("sh", "-c", script));
    for (int i = 0; i < more.length; i += 2) {
      body.put(more[i], JsonText.parse(more[i + 1]));
    }
    return rest.post("/containers", JsonText.print(body.build()))
        .expect(201)
        .json()
        .at("id")
        .string()
        .orElseThrow();
  }

  @Override
  public void close() throws Exception {
    rest.close();
    daemon.close();
    node.close();
  }
}
