package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What libraries rely on that Docker's command line does not: found by their own test suites. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DockerLibrariesIT {
  @RegisterExtension static final DockerNode node = new DockerNode();
  private static final DockerWire wire = node.wire();

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
    Json version = wire.send("GET", "/version").json();
    assertThat(version.at("Version").string()).contains("28.5.2+zlayer");
    assertThat(version.at("GoVersion").string().orElse("")).startsWith("java");
    assertThat(version.at("Components").items())
        .anySatisfy(part -> assertThat(part.at("Name").string()).contains("zlayer"));
  }

  /** Its files remain when its process is no longer there to look through. */
  @Test
  void filesAreCopiedIntoAContainerThatIsJustExiting() throws Exception {
    byte[] archive = TarWriter.archive(List.of(TarEntry.file("copied", "copied")));
    for (int round = 0; round < 20; round++) {
      String name = "brief-" + round;
      wire.create(name, "{\"Image\":\"%s\",\"Cmd\":[\"true\"]}".formatted(Node.IMAGE));
      wire.send("POST", "/containers/" + name + "/start").expect(204);
      wire.put("/containers/" + name + "/archive?path=.", archive).expect(200);
      wire.send("GET", "/containers/" + name + "/archive?path=/copied").expect(200);
      wire.send("DELETE", "/containers/" + name + "?force=1").expect(204);
    }
  }

  /** Images need not have the directories that every container has. */
  @Test
  void onlyWhatAContainerWroteIsAChange() throws Exception {
    wire.create("writer", "{\"Image\":\"%s\",\"Cmd\":[\"touch\",\"/made\"]}".formatted(Node.IMAGE));
    wire.send("POST", "/containers/writer/start").expect(204);
    wire.send("POST", "/containers/writer/wait").expect(200);

    assertThat(wire.send("GET", "/containers/writer/changes").json().items())
        .extracting(change -> change.at("Path").string().orElse(""))
        .containsExactly("/made");
  }

  @Test
  void anImageWithoutNamesHasNoneUnlessTheClientIsOld() throws Exception {
    wire.create("donor", "{\"Image\":\"%s\"}".formatted(Node.IMAGE));
    String unnamed =
        wire.post("/commit?container=donor", "{\"repository\":\"x\"}")
            .expect(201)
            .json()
            .at("Id")
            .string()
            .orElseThrow();
    String dangling = "/images/json?filters=%7B%22dangling%22%3A%5B%22true%22%5D%7D";

    assertThat(wire.send("GET", "/v1.44" + dangling).json().items().getFirst().at("RepoTags"))
        .isEqualTo(Json.of(List.of()));
    assertThat(
            wire.send("GET", "/v1.41" + dangling)
                .json()
                .items()
                .getFirst()
                .at("RepoTags")
                .strings())
        .containsExactly("<none>:<none>");
    wire.send("DELETE", "/images/" + unnamed).expect(200);
  }
}
