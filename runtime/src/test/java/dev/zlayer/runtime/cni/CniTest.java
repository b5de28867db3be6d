package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The protocol, with plugins that write down how they were called. */
class CniTest {
  private static final Cni.Target TARGET = new Cni.Target("id-1", "/run/netns/one", "eth0");
  private static final String RECORD =
      "echo \"$CNI_COMMAND $(basename $0) $CNI_CONTAINERID"
          + " $CNI_NETNS $CNI_IFNAME\" >> log; cat > input-$CNI_COMMAND-$(basename $0); ";

  @TempDir Path directory;
  private Cni cni;
  private final List<Json> chain =
      List.of(
          Json.object().put("name", "net").put("type", "first").build(),
          Json.object().put("name", "net").put("type", "second").put("extra", 1).build());

  @BeforeEach
  void makePlugins() throws IOException {
    cni = new Cni(List.of(directory.resolve("absent"), directory), Duration.ofSeconds(10));
    plugin("first", RECORD + "echo '{\"cniVersion\":\"1.0.0\",\"by\":\"first\"}'");
    plugin("second", RECORD + "echo '{\"cniVersion\":\"1.0.0\",\"by\":\"second\"}'");
  }

  @Test
  void eachPluginGetsTheResultOfTheOneBefore() throws Exception {
    Json result = cni.add(TARGET, chain);

    assertThat(result.at("by").string()).contains("second");
    assertThat(log())
        .containsExactly(
            "ADD first id-1 /run/netns/one eth0", "ADD second id-1 /run/netns/one eth0");
    assertThat(input("ADD", "first").at("prevResult").isNull()).isTrue();
    assertThat(input("ADD", "first").at("cniVersion").string()).contains("1.0.0");
    assertThat(input("ADD", "second").at("prevResult").at("by").string()).contains("first");
    assertThat(input("ADD", "second").at("extra").integer()).contains(1L);
  }

  @Test
  void deletionGoesInReverseWithTheLastResult() throws Exception {
    Json result = cni.add(TARGET, chain);
    cni.delete(TARGET.withoutNamespace(), chain, result);

    assertThat(log()).endsWith("DEL second id-1  eth0", "DEL first id-1  eth0");
    assertThat(input("DEL", "first").at("prevResult").at("by").string()).contains("second");
  }

  @Test
  void aCheckGoesForwardWithTheLastResult() throws Exception {
    cni.check(TARGET, chain, Json.object().put("by", "all").build());

    assertThat(log())
        .extracting(line -> line.substring(0, 11))
        .containsExactly("CHECK first", "CHECK secon");
    assertThat(input("CHECK", "first").at("prevResult").at("by").string()).contains("all");
  }

  @Test
  void theWordsOfAFailedPluginArePassedOn() throws Exception {
    plugin(
        "second",
        "echo noise >&2; echo '{\"code\":7,\"msg\":\"bad config\",\"details\":\"mtu\"}'; exit 1");
    assertThatThrownBy(() -> cni.add(TARGET, chain))
        .isInstanceOf(AgentException.Network.class)
        .hasMessage("cni plugin second exited with 1 on ADD: bad config: mtu");
  }

  @Test
  void anObjectThatIsNoResultIsRefused() throws Exception {
    plugin("first", "echo '{}'");
    assertThatThrownBy(() -> cni.add(TARGET, chain))
        .hasMessage("cni plugin first exited with 0 on ADD but printed no result: {}");
  }

  @Test
  void aMissingPluginTellsWhereItWasLookedFor() {
    List<Json> unknown = List.of(Json.object().put("type", "third").build());
    assertThatThrownBy(() -> cni.add(TARGET, unknown))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("cni plugin third is not in")
        .hasMessageContaining(directory.toString());
  }

  private void plugin(String name, String body) throws IOException {
    Path file =
        Files.writeString(
            directory.resolve(name), "#!/bin/sh\ncd \"$(dirname $0)\"\n" + body + "\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private List<String> log() throws IOException {
    return Files.readAllLines(directory.resolve("log"));
  }

  private Json input(String verb, String plugin) throws IOException {
    return JsonText.parse(Files.readAllBytes(directory.resolve("input-" + verb + "-" + plugin)));
  }
}
