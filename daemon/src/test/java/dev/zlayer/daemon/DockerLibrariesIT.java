package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What libraries rely on that Docker's command line does not: found by their own test suites. */
@Timeout(120)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DockerLibrariesIT {
  private static OpenNode node;
  private static DockerWire wire;

  @BeforeAll
  static void open() throws Exception {
    node = OpenNode.open();
    wire = new DockerWire(node.dockerSocket());
  }

  @AfterAll
  static void close() throws Exception {
    if (node != null) {
      wire.close();
      node.close();
    }
  }

  @AfterEach
  void removeAll() throws Exception {
    for (Json container : wire.send("GET", "/containers/json?all=1").json().items()) {
      wire.send(
          "DELETE", "/containers/%s?force=1".formatted(container.at("Id").string().orElseThrow()));
    }
  }

  private static String sleeper(String name) throws Exception {
    String id =
        wire.create(
            name,
            "{\"Image\":\"%s\",\"Cmd\":[\"sleep\",\"300\"],\"HostConfig\":{\"Init\":true}}"
                .formatted(Node.IMAGE));
    wire.send("POST", "/containers/" + name + "/start").expect(204);
    return id;
  }

  private static String exec(String container, String body) throws Exception {
    return wire.post("/containers/" + container + "/exec", body)
        .expect(201)
        .json()
        .at("Id")
        .string()
        .orElseThrow();
  }

  @Test
  void whoStartsAProcessSaysWhetherItsOutputIsFramed() throws Exception {
    sleeper("framed");
    String body = "{\"Cmd\":[\"echo\",\"hello\"],\"Tty\":true,\"AttachStdout\":true}";

    DockerWire.Reply framed =
        wire.post("/exec/" + exec("framed", body) + "/start", "{}").expect(200);
    DockerWire.Reply plain =
        wire.post("/exec/" + exec("framed", body) + "/start", "{\"Tty\":true}").expect(200);

    assertThat(DockerWire.frames(framed.text().getBytes(StandardCharsets.UTF_8)))
        .isEqualTo("1:hello\r\n");
    assertThat(framed.headers().first("Content-Type").orElse(""))
        .isEqualTo("application/vnd.docker.multiplexed-stream");
    assertThat(plain.text()).isEqualTo("hello\r\n");
    assertThat(plain.headers().first("Content-Type").orElse(""))
        .isEqualTo("application/vnd.docker.raw-stream");
  }

  @Test
  void fieldsOfAProcessMayBeginInLowerCase() throws Exception {
    sleeper("lower");

    // two libraries repeat the container of the path, each under its own name
    String id =
        exec(
            "lower",
            "{\"cmd\":[\"true\"],\"detachKeys\":\"ctrl-p\",\"Container\":\"x\",\"containerId\":\"x\"}");

    assertThat(wire.send("GET", "/exec/" + id + "/json").json().at("DetachKeys").string())
        .contains("ctrl-p");
  }

  @Test
  void parametersThatAskForNothingMayBeginInUpperCase() throws Exception {
    wire.create("python", "{\"Image\":\"%s\"}".formatted(Node.IMAGE));

    wire.send("DELETE", "/containers/python?v=False&link=False&force=False").expect(204);
  }

  @Test
  void aVariableWithoutAValueIsShown() throws Exception {
    wire.create("bare", "{\"Image\":\"%s\",\"Env\":[\"A\",\"B=c\"]}".formatted(Node.IMAGE));

    assertThat(wire.send("GET", "/containers/bare/json").json().at("Config").at("Env").strings())
        .contains("A", "B=c");
  }

  @Test
  void theLogOfDriverNoneIsNotRead() throws Exception {
    String body = "{\"Image\":\"%s\",\"HostConfig\":{\"LogConfig\":{\"Type\":\"%s\"}}}";
    wire.create("unread", body.formatted(Node.IMAGE, "none"));
    wire.create("usual", body.formatted(Node.IMAGE, ""));

    assertThat(wire.send("GET", "/containers/unread/logs?stdout=1").expect(501).message())
        .isEqualTo("configured logging driver does not support reading");
    assertThat(driver("unread")).isEqualTo("none");
    assertThat(driver("usual")).isEqualTo("json-file");
  }

  private static String driver(String container) throws Exception {
    return wire.send("GET", "/containers/" + container + "/json")
        .json()
        .at("HostConfig")
        .at("LogConfig")
        .at("Type")
        .string()
        .orElse("");
  }

  @Test
  void anArchiveThatCannotBeLoadedIsReportedInTheStream() throws Exception {
    try (DockerWire.Raw raw = wire.raw()) {
      raw.send(
          "POST /images/load HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\n"
              + "junk");

      assertThat(raw.head()).startsWith("HTTP/1.1 200");
      assertThat(new String(raw.rest(), StandardCharsets.UTF_8)).contains("\"errorDetail\"");
    }
  }

  @Test
  void aCommittedImageIsRunAsItsContainerWas() throws Exception {
    wire.create(
        "original",
        "{\"Image\":\"%s\",\"Cmd\":[\"echo\",\"x y\"],\"Env\":[\"Q=a \\\"b\\\"\"],\"Labels\":{\"l\":\"m\"}}"
            .formatted(Node.IMAGE));

    String id =
        wire.post("/commit?container=original&comment=why", "{}")
            .expect(201)
            .json()
            .at("Id")
            .string()
            .orElseThrow();

    try {
      Json image = wire.send("GET", "/images/" + id + "/json").expect(200).json();
      assertThat(image.at("Config").at("Cmd").strings()).isEqualTo(List.of("echo", "x y"));
      assertThat(image.at("Config").at("Env").strings()).contains("Q=a \"b\"");
      assertThat(image.at("Config").at("Labels").stringMap()).containsEntry("l", "m");
      assertThat(image.at("Comment").string()).contains("why");
      assertThat(image.at("Parent").string())
          .isEqualTo(wire.send("GET", "/images/" + Node.IMAGE + "/json").json().at("Id").string());
    } finally {
      wire.send("DELETE", "/images/" + id + "?force=1");
    }
  }

  /** dockerode sends parameters as a body, too; they are not input. */
  @Test
  void aBodyOfAttachIsNoInput() throws Exception {
    wire.create(
        "reader",
        "{\"Image\":\"%s\",\"Cmd\":[\"head\",\"-n\",\"1\"],\"OpenStdin\":true}"
            .formatted(Node.IMAGE));
    try (DockerWire.Raw raw = wire.raw()) {
      raw.send(
          "POST /containers/reader/attach?stream=1&stdin=1&stdout=1 HTTP/1.1\r\nHost: x\r\n"
              + "Content-Type: application/json\r\nContent-Length: 15\r\n"
              + "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n{\"stream\":true}");
      assertThat(raw.head()).startsWith("HTTP/1.1 101");
      wire.send("POST", "/containers/reader/start").expect(204);
      raw.send("typed\n");
      assertThat(DockerWire.frames(raw.rest())).isEqualTo("1:typed\n");
    }
  }

  @Test
  void anOldClientNeedsToNameNoHost() throws Exception {
    try (DockerWire.Raw raw = wire.raw()) {
      raw.send("GET /v1.41/version HTTP/1.0\r\n\r\n");
      assertThat(raw.head()).startsWith("HTTP/1.1 200");
    }
  }

  @Test
  void theVersionComparesAsThatOfDocker() throws Exception {
    assertThat(wire.send("GET", "/version").json().at("Version").string().orElse(""))
        .matches("28\\.5\\.2\\+zlayer\\..+");
  }
}
