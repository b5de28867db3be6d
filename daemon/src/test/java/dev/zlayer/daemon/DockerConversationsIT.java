package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.docker.DockerEngine;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Requests on the agent, one after the other: each has the status that dockerd 28.5.2 was recorded
 * with, and in its body every member that was recorded, of the same type. A member that the agent
 * does not have, or a status that differs, has its reason before the request. Run it with {@code
 * ZLAYER_RECORD_DOCKERD=1} and that dockerd on the path to record anew.
 */
@Timeout(240)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DockerConversationsIT {
  private static final Path SCRIPT = Path.of("src/test/resources/docker/requests.txt");
  private static final Path RECORD = Path.of("src/test/resources/docker/answers-28.5.2.txt");

  /**
   * A request.
   *
   * @param differing members, or {@code status}, that may differ, with the reasons
   */
  private record Line(String request, Map<String, String> differing) {}

  /** What a server answered: the types of the members by their paths. */
  private record Answer(int status, Map<String, String> shape) {}

  private static List<Line> script() throws IOException {
    var lines = new ArrayList<Line>();
    Map<String, String> differing = new TreeMap<>();
    for (String line : Files.readAllLines(SCRIPT)) {
      if (line.startsWith("~ ")) {
        String[] words = line.substring(2).split(" ", 2);
        differing.put(words[0], words[1]);
      } else if (!line.startsWith("#") && !line.isBlank()) {
        lines.add(new Line(line, Map.copyOf(differing)));
        differing.clear();
      }
    }
    return lines;
  }

  @Test
  void theAgentAnswersInTheShapesOfDocker() throws Exception {
    List<Line> lines = script();
    assertThat(lines).hasSizeGreaterThanOrEqualTo(60);
    if (System.getenv("ZLAYER_RECORD_DOCKERD") != null) {
      record(lines);
      return;
    }
    List<Answer> expected = recorded();
    assertThat(expected).as("record dockerd anew").hasSameSizeAs(lines);
    var differences = new ArrayList<String>();
    try (OpenNode node = OpenNode.open();
        var wire = new DockerWire(node.dockerSocket())) {
      for (int i = 0; i < lines.size(); i++) {
        String request = lines.get(i).request();
        if (request.contains("/logs?")) {
          // what the container prints may take a moment
          Awaitility.await().until(() -> !answer(wire, request).shape().isEmpty());
        }
        compare(lines.get(i), expected.get(i), answer(wire, request), differences);
      }
    }
    assertThat(differences).isEmpty();
  }

  private static void compare(Line line, Answer dockerd, Answer agent, List<String> differences) {
    var missing = new TreeMap<String, String>();
    if (dockerd.status() != agent.status()) {
      missing.put("status", "%d, not %d".formatted(dockerd.status(), agent.status()));
    }
    dockerd
        .shape()
        .forEach(
            (path, type) -> {
              String own = agent.shape().getOrDefault(path, "absent");
              if (!own.equals(type) && !(type.equals("null") && !own.equals("absent"))) {
                missing.put(path, "%s, not %s".formatted(type, own));
              }
            });
    for (String known : line.differing().keySet()) {
      if (missing.keySet().removeIf(path -> covers(known, path))) {
        continue;
      }
      differences.add("%s: %s does not differ any more".formatted(line.request(), known));
    }
    missing.forEach(
        (path, problem) ->
            differences.add("%s: %s is %s".formatted(line.request(), path, problem)));
  }

  private static boolean covers(String known, String path) {
    return path.equals(known) || path.startsWith(known + ".") || path.startsWith(known + "[");
  }

  private static Answer answer(DockerWire wire, String request) throws InterruptedException {
    String[] words = request.split(" ", 3);
    String path = words[1].replace("IMAGE", Node.IMAGE);
    DockerWire.Reply reply =
        words.length == 2
            ? wire.send(words[0], path)
            : wire.post(path, words[2].replace("IMAGE", Node.IMAGE));
    Map<String, String> shape = new TreeMap<>();
    String type = reply.headers().first("Content-Type").orElse("");
    if (reply.text().isEmpty()) {
      return new Answer(reply.status(), shape);
    }
    if (!type.startsWith("application/json")) {
      shape.put("body", type.replaceFirst(";.*", ""));
      return new Answer(reply.status(), shape);
    }
    try {
      shape("", JsonText.parse(reply.text()), shape);
    } catch (AgentException.InvalidSpec _) {
      reply.text().lines().forEach(line -> shape("[]", JsonText.parse(line), shape));
    }
    return new Answer(reply.status(), shape);
  }

  /** Several of an array are one, with the members that any of them has. */
  private static void shape(String path, Json json, Map<String, String> shape) {
    switch (json) {
      case Json.Obj object -> {
        shape.put(path, "object");
        object
            .members()
            .forEach(
                (name, value) -> {
                  String key = name.replaceAll("[0-9a-f]{64}", "ID").replace(' ', '_');
                  shape(path + "." + key, value, shape);
                });
      }
      case Json.Arr array -> {
        shape.put(path, "array");
        array.items().forEach(item -> shape(path + "[]", item, shape));
      }
      case Json.Str _ -> shape.put(path, "string");
      case Json.Num _ -> shape.put(path, "number");
      case Json.Bool _ -> shape.put(path, "boolean");
      case Json.Null _ -> shape.putIfAbsent(path, "null");
    }
  }

  private static List<Answer> recorded() throws IOException {
    var all = new ArrayList<Answer>();
    for (String line : Files.readAllLines(RECORD)) {
      if (line.startsWith("= ")) {
        all.add(new Answer(Integer.parseInt(line.substring(2)), new TreeMap<>()));
      } else if (line.startsWith("  ")) {
        String[] words = line.strip().split(" ", 2);
        all.getLast().shape().put(words[0].equals("whole") ? "" : words[0], words[1]);
      }
    }
    return all;
  }

  private static void record(List<Line> lines) throws Exception {
    try (DockerEngine engine = DockerEngine.start();
        var wire = new DockerWire(((HttpAddress.Unix) engine.address()).socket())) {
      wire.postBytes(
              "/images/load", ImageMaker.busybox().cmd("sh").make().dockerArchive(Node.IMAGE))
          .expect(200);
      var text = new StringBuilder();
      for (Line line : lines) {
        Answer answer = answer(wire, line.request());
        text.append("> %s%n= %d%n".formatted(line.request(), answer.status()));
        answer
            .shape()
            .forEach(
                (path, type) ->
                    text.append("  %s %s%n".formatted(path.isEmpty() ? "whole" : path, type)));
      }
      Files.write(RECORD, text.toString().getBytes(StandardCharsets.UTF_8));
    }
  }
}
