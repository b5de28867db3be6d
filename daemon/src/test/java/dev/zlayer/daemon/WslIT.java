package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.wsl.StandInWsl;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A container that is pinned to the WSL runtime, through the REST API. */
@Requires(
    value = {Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX},
    programs = {"unshare", "nsenter", "iconv"})
class WslIT {
  @TempDir Path directory;

  @Test
  void aPinnedContainerRunsInTheDistributionAlsoAfterACrash() throws Exception {
    try (StandInWsl wsl = StandInWsl.open(directory);
        Node node =
            new Node()
                .with("wsl", "Debian")
                .with("wsl_program", wsl.program().toString())
                .with("data_dir", wsl.windows().resolve("zlayer").toString())) {
      try (ChildDaemon first = ChildDaemon.start(node);
          Rest rest = node.rest()) {
        Node.loadImage(rest);
        Json info = rest.get("/info").expect(200).json();
        assertThat(info.at("wsl").at("usable").bool()).contains(true);
        assertThat(info.at("runtimes").items())
            .extracting(runtime -> runtime.at("name").string().orElse(""))
            .contains("oci", "wsl", "wasm");
        create(rest, "host", "echo inside; exec sleep 1000", 201);
        assertThat(rest.get("/containers/pinned").json().at("container").at("runtime").string())
            .contains("wsl");
        assertThat(create(rest, "bridge", "true", 501).text()).contains("a bridge network");
        first.kill();
      }
      try (ChildDaemon _ = ChildDaemon.start(node);
          Rest rest = node.rest()) {
        Json container = rest.get("/containers/pinned").expect(200).json().at("container");
        assertThat(container.at("state").string()).contains("running");
        assertThat(rest.get("/containers/pinned/logs?format=raw").text()).isEqualTo("inside\n");
        Json end = rest.post("/containers/pinned/stop?grace=0s").expect(200).json();
        assertThat(end.at("signal").string()).contains("SIGKILL");
        rest.delete("/containers/pinned").expect(204);
      }
    }
  }

  private static Rest.Reply create(Rest rest, String network, String script, int status)
      throws Exception {
    var body =
        Json.object()
            .put("name", network.equals("host") ? "pinned" : network)
            .put("image", Node.IMAGE)
            .put("pull", "never")
            .put("network_mode", network)
            .put("labels", Map.of("com.zlayer.isolation", "wsl"))
            .put("command", List.of("sh", "-c", script));
    return rest.post("/containers", JsonText.print(body.build())).expect(status);
  }
}
