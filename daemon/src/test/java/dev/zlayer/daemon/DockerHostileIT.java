package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayOutputStream;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Names, bodies and archives that mean harm: refused in words, and nothing is touched. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DockerHostileIT {
  private static final List<String> NAMES =
      List.of(
          "..",
          "../../etc/passwd",
          "a/b",
          "a\0b",
          "a\nb",
          "-rf",
          ".hidden",
          "a b",
          "ä",
          "\u202egnp",
          "$(id)",
          "a;b",
          "%2e%2e%2f",
          "x".repeat(5000));

  @RegisterExtension static final DockerNode node = new DockerNode();
  private static final DockerWire wire = node.wire();

  @TempDir Path directory;

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  /** The caller's fault, said in words. */
  private static void assertRefused(String what, DockerWire.Reply reply) {
    assertThat(reply.status()).as(what + ": " + reply.text()).isBetween(400, 499);
    assertThat(reply.message()).as(what).isNotBlank().doesNotContain("internal error");
  }

  /** On a connection of its own: the server closes those on which nonsense was sent. */
  private static DockerWire.Reply send(String method, String path) throws Exception {
    try (var own = new DockerWire(node.node().dockerSocket())) {
      return own.send(method, path);
    }
  }

  private static DockerWire.Reply post(String path, String json) throws Exception {
    try (var own = new DockerWire(node.node().dockerSocket())) {
      return own.post(path, json);
    }
  }

  @Test
  void namesAreRefusedWhateverTheyName() throws Exception {
    for (String name : NAMES) {
      String as = encoded(name);
      for (String path :
          List.of(
              "/containers/%s/json",
              "/images/%s/json", "/networks/%s", "/volumes/%s", "/exec/%s/json")) {
        assertRefused(path + " " + name, send("GET", path.formatted(as)));
      }
      for (String path :
          List.of("/containers/%s/start", "/containers/%s/kill", "/networks/%s/connect")) {
        assertRefused(path + " " + name, post(path.formatted(as), "{}"));
      }
      for (String path : List.of("/containers/%s", "/images/%s", "/networks/%s", "/volumes/%s")) {
        assertRefused(path + " " + name, send("DELETE", path.formatted(as)));
      }
      String body = JsonText.print(Json.object().put("Image", Node.IMAGE).build());
      assertRefused("create " + name, post("/containers/create?name=" + as, body));
      String named = JsonText.print(Json.object().put("Name", name).build());
      assertRefused("volume " + name, post("/volumes/create", named));
      assertRefused("network " + name, post("/networks/create", named));
      if (name.equals("a/b")) {
        continue; // an image may have this one
      }
      assertRefused("push " + name, post("/images/%s/push".formatted(as), ""));
      assertRefused("pull " + name, post("/images/create?fromImage=" + as, ""));
      assertRefused(
          "tag " + name, post("/images/%s/tag?repo=%s".formatted(encoded(Node.IMAGE), as), ""));
      String image = JsonText.print(Json.object().put("Image", name).build());
      assertRefused("image " + name, post("/containers/create", image));
    }
    assertThat(wire.send("GET", "/containers/json?all=1").json().items()).isEmpty();
    assertThat(wire.send("GET", "/volumes").json().at("Volumes").items()).isEmpty();
    assertThat(wire.send("GET", "/networks").json().items()).hasSize(3);
    assertThat(wire.send("GET", "/images/json").json().items()).hasSize(1);
  }

  @Test
  void bodiesAreRefusedWhateverIsInThem() throws Exception {
    var bodies = new ArrayList<String>();
    bodies.addAll(
        List.of("{", "[]", "5", "\"x\"", "{\"Image\":}", "{}{}", "\0", "{\"Image\":\"\\ud800\"}"));
    bodies.add("[".repeat(100_000));
    bodies.add("{\"Labels\":".repeat(50_000));
    for (String value :
        List.of(
            "5", "\"x\"", "{\"a\":{\"b\":1}}", "[[]]", "[{}]", "1e999", "-9223372036854775809")) {
      for (String field :
          List.of(
              "Cmd",
              "Env",
              "Labels",
              "ExposedPorts",
              "Volumes",
              "Healthcheck",
              "StopTimeout",
              "Hostname",
              "Tty",
              "User")) {
        bodies.add("{\"Image\":\"%s\",\"%s\":%s}".formatted(Node.IMAGE, field, value));
      }
      for (String field :
          List.of(
              "Binds",
              "Mounts",
              "PortBindings",
              "Memory",
              "NanoCpus",
              "CapAdd",
              "Ulimits",
              "RestartPolicy",
              "Tmpfs",
              "Sysctls",
              "Devices",
              "NetworkMode",
              "ShmSize",
              "ExtraHosts")) {
        bodies.add(
            "{\"Image\":\"%s\",\"HostConfig\":{\"%s\":%s}}".formatted(Node.IMAGE, field, value));
      }
    }
    for (String body : bodies) {
      DockerWire.Reply reply = wire.post("/containers/create", body);
      // some of these values are as good as any other for their field
      if (reply.status() != 201) {
        assertRefused(body.length() > 200 ? body.substring(0, 200) : body, reply);
      }
    }
    for (String path :
        List.of(
            "/volumes/create",
            "/networks/create",
            "/auth",
            "/containers/none/exec",
            "/commit?container=none")) {
      for (String body : bodies.subList(0, 10)) {
        assertRefused(
            path + " " + body.substring(0, Math.min(50, body.length())), wire.post(path, body));
      }
    }
    for (String filters :
        List.of("{", "[]", "{\"name\":5}", "{\"name\":{\"a\":{}}}", "{\"colour\":[\"red\"]}")) {
      for (String path :
          List.of("/containers/json", "/images/json", "/volumes", "/networks", "/events")) {
        assertRefused(
            path + filters, wire.send("GET", path + "?until=1&filters=" + encoded(filters)));
      }
    }
    // far more than any description of a container
    byte[] large = new byte[40 << 20];
    Arrays.fill(large, (byte) ' ');
    assertRefused("40 MiB", wire.postBytes("/containers/create", large));
  }

  private static byte[] gzip(byte[] bytes) throws Exception {
    var out = new ByteArrayOutputStream();
    try (var gzip = new GZIPOutputStream(out)) {
      gzip.write(bytes);
    }
    return out.toByteArray();
  }

  /** More than a stack is deep, before the archive. */
  private static byte[] manyMembers(byte[] archive) throws Exception {
    byte[] empty = gzip(new byte[0]);
    var out = new ByteArrayOutputStream();
    for (int i = 0; i < 300_000; i++) {
      out.write(empty);
    }
    out.write(gzip(archive));
    return out.toByteArray();
  }

  /** Archives that are no archives, or reach for {@code host}. */
  private static Map<String, byte[]> archives(Path host) throws Exception {
    var archives = new LinkedHashMap<String, byte[]>();
    archives.put("nothing", new byte[0]);
    archives.put("text", "not an archive".repeat(100).getBytes(StandardCharsets.UTF_8));
    byte[] good = TarWriter.archive(List.of(TarEntry.file("file", new byte[5000])));
    archives.put("half", Arrays.copyOf(good, 3000));
    archives.put("half of gzip", Arrays.copyOf(gzip(good), 40));
    archives.put("very many empty members of gzip", manyMembers(good));
    archives.put(
        "checksum", TarWriter.archive(List.of(TarEntry.file("file", "x").withBadChecksum())));
    archives.put(
        "size", TarWriter.archive(List.of(TarEntry.file("file", "x").withDeclaredSize(1L << 50))));
    String up = "../".repeat(20) + host.toString().substring(1);
    archives.put("up", TarWriter.archive(List.of(TarEntry.file(up + "/evil", "x"))));
    archives.put("absolute", TarWriter.archive(List.of(TarEntry.file(host + "/evil", "x"))));
    archives.put(
        "link",
        TarWriter.archive(
            List.of(TarEntry.symlink("way", host.toString()), TarEntry.file("way/evil", "x"))));
    archives.put(
        "link up",
        TarWriter.archive(List.of(TarEntry.symlink("way", up), TarEntry.file("way/evil", "x"))));
    archives.put(
        "hard link",
        TarWriter.archive(
            List.of(TarEntry.hardLink("hard", host + "/kept"), TarEntry.file("hard", "x"))));
    archives.put(
        "nul",
        TarWriter.archive(
            List.of(TarEntry.file("x", "x").withPax("path", new byte[] {'a', 0, 'b'}))));
    return archives;
  }

  private static void assertUntouched(String what, Path host) throws Exception {
    try (var files = Files.list(host)) {
      assertThat(files).as(what).containsExactly(host.resolve("kept"));
    }
    assertThat(host.resolve("kept")).as(what).hasContent("of the host");
  }

  @Test
  void archivesForContainersStayInside() throws Exception {
    Path host = Files.createDirectory(directory.resolve("host"));
    Files.writeString(host.resolve("kept"), "of the host");
    wire.create(
        "target",
        "{\"Image\":\"%s\",\"Cmd\":[\"sleep\",\"300\"],\"HostConfig\":{\"NetworkMode\":\"none\"}}"
            .formatted(Node.IMAGE));
    for (boolean running : new boolean[] {false, true}) {
      if (running) {
        wire.send("POST", "/containers/target/start").expect(204);
      }
      for (var archive : archives(host).entrySet()) {
        DockerWire.Reply reply =
            wire.put("/containers/target/archive?path=/tmp", archive.getValue());
        if (reply.status() != 200) {
          assertRefused(archive.getKey(), reply);
        }
        assertUntouched(archive.getKey(), host);
      }
      wire.put(
              "/containers/target/archive?path=/tmp",
              manyMembers(TarWriter.archive(List.of(TarEntry.file("file", "whole")))))
          .expect(200);
      for (String path :
          List.of(
              "/proc/self/root" + host,
              "/../../.." + host,
              "/tmp/way",
              host.toString(),
              "a\0b",
              "x".repeat(5000))) {
        DockerWire.Reply reply =
            wire.put(
                "/containers/target/archive?path=" + encoded(path),
                TarWriter.archive(List.of(TarEntry.file("evil", "x"))));
        if (reply.status() != 200) {
          assertRefused(path, reply);
        }
        assertUntouched(path, host);
        DockerWire.Reply read =
            wire.send("GET", "/containers/target/archive?path=" + encoded(path + "/kept"));
        assertThat(read.text()).as(path).doesNotContain("of the host");
      }
    }
    assertThat(wire.send("GET", "/containers/target/json").json().at("State").at("Running").bool())
        .contains(true);
  }

  @Test
  void archivesOfImagesStayInTheStore() throws Exception {
    Path host = Files.createDirectory(directory.resolve("host"));
    Files.writeString(host.resolve("kept"), "of the host");
    Map<String, byte[]> archives = archives(host);
    String up = "../".repeat(20) + host.toString().substring(1) + "/kept";
    for (String file : List.of(up, host + "/kept", "way", "absent", "")) {
      archives.put(
          "manifest of " + file,
          TarWriter.archive(
              List.of(
                  TarEntry.symlink("way", host + "/kept"),
                  TarEntry.file(
                      "manifest.json",
                      JsonText.print(
                          Json.of(
                              List.of(
                                  Json.object()
                                      .put("Config", file)
                                      .put("RepoTags", List.of("localhost/evil:1"))
                                      .put("Layers", List.of(file))
                                      .build())))))));
    }
    archives.put(
        "a layer that reaches out",
        ImageMaker.busybox()
            .layer(TarEntry.symlink("way", host.toString()), TarEntry.file("way/evil", "x"))
            .make()
            .ociArchive("localhost/evil:2"));
    for (var archive : archives.entrySet()) {
      DockerWire.Reply reply = wire.postBytes("/images/load", archive.getValue());
      if (reply.status() != 200) {
        assertRefused(archive.getKey(), reply);
      }
      assertUntouched(archive.getKey(), host);
      DockerWire.Reply imported =
          wire.postBytes("/images/create?fromSrc=-&repo=localhost/evil&tag=3", archive.getValue());
      if (imported.status() != 200) {
        assertRefused(archive.getKey(), imported);
      }
      assertUntouched(archive.getKey(), host);
    }
    wire.send("GET", "/images/localhost/evil:1/json").expect(404);
    assertThat(node.node().rest().post("/images/check", "{}").json().at("sound").bool())
        .contains(true);
  }

  @Test
  @Requires(Fact.BUILDAH)
  void contextsOfBuildsStayInTheirDirectory() throws Exception {
    Path host = Files.createDirectory(directory.resolve("host"));
    Files.writeString(host.resolve("kept"), "of the host");
    for (var archive : archives(host).entrySet()) {
      assertRefused(archive.getKey(), wire.postBytes("/build", archive.getValue()));
      assertUntouched(archive.getKey(), host);
    }
    byte[] context =
        TarWriter.archive(
            List.of(
                TarEntry.symlink("linked", host + "/kept"),
                TarEntry.symlink("way", host.toString()),
                TarEntry.file("Dockerfile", "FROM scratch\nCOPY linked /file\n"),
                TarEntry.file("Through", "FROM scratch\nCOPY way/kept /file\n"),
                TarEntry.file(
                    "Up", "FROM scratch\nCOPY ../../../../../..%s/kept /file\n".formatted(host)),
                TarEntry.file("Name", "FROM ../../x\n"),
                TarEntry.file("Empty", "")));
    for (String file :
        List.of(
            "Dockerfile",
            "Through",
            "Up",
            "Name",
            "Empty",
            "linked",
            "way/kept",
            "absent",
            "../../../etc/passwd",
            "/etc/passwd",
            "a\0b",
            "-f")) {
      DockerWire.Reply reply =
          wire.postBytes("/build?t=localhost/evil:4&dockerfile=" + encoded(file), context);
      assertThat(reply.text()).as(file).contains("message").doesNotContain("internal error");
      assertThat(reply.text()).as(file).doesNotContain("of the host").doesNotContain("root:x:");
      assertUntouched(file, host);
    }
    wire.send("GET", "/images/localhost/evil:4/json").expect(404);
    try (var left = Files.list(node.node().directories().builds())) {
      assertThat(left).isEmpty();
    }
  }
}
