package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Recorder;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What programs that the agent starts get of it: neither open files nor its variables. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class ChildProcessesIT {
  private static final String SECRET = "ZLAYER_TEST_SECRET_OF_THE_AGENT";

  @Test
  void noProgramGetsADescriptorOrAVariableOfTheAgent() throws Exception {
    try (var node = new Node()) {
      Path programs = Files.createDirectory(node.directory.resolve("programs"));
      Path seen = Files.createDirectory(node.directory.resolve("seen"));
      for (String name : List.of("runc", "conmon", "nft", "conntrack")) {
        Path real = real(name);
        Recorder.wrap(programs.resolve(name), real, seen);
      }
      Recorder.wrap(programs.resolve("on-host"), Path.of("/bin/true"), seen);
      node.with("oci_runtime", programs.resolve("runc").toString()).with("host_commands", "true");
      Map<String, String> env =
          Map.of(SECRET, "x", "PATH", programs + ":" + System.getenv("PATH"), "AWS_SECRET", "x");
      try (var _ = ChildDaemon.start(node, env);
          Rest rest = node.rest()) {
        Node.loadImage(rest);
        String file =
            """
            version: v1
            deployment: children
            services:
              web:
                image: {name: %1$s}
                command: [sleep, "1000"]
                stop_signal: KILL
                endpoints: [{name: web, port: 80, protocol: tcp}]
                health:
                  check: {type: command, command: "cat /proc/self/environ >/tmp/environ; ls -l /proc/self/fd >/tmp/fds"}
                  interval: 1s
                init: {steps: [{id: host, uses: init.host_run, with: {command: "%2$s/on-host"}}]}
            """
                .formatted(Node.IMAGE, programs);
        rest.put("/deployments/children?wait=60s", file.getBytes(StandardCharsets.UTF_8))
            .expect(200);
        String checked =
            rest.post(
                    "/containers/children:web/exec",
                    "{\"command\":[\"sh\",\"-c\",\"cat /tmp/environ /tmp/fds\"]}")
                .expect(200)
                .text();
        assertThat(checked)
            .contains("pipe:")
            .doesNotContain(SECRET)
            .doesNotContain("AWS_SECRET")
            .doesNotContain(node.directory.toString());
        rest.delete("/deployments/children?wait=60s").expect(200);
      }
      Recorder.check(
          seen, "_OCI_[A-Z]+|ZLAYER_STEP_[A-Z_]+", List.of("runc", "conmon", "nft", "on-host"));
    }
  }

  private static Path real(String name) {
    return Stream.of(System.getenv("PATH").split(":"))
        .map(place -> Path.of(place, name))
        .filter(Files::isExecutable)
        .findFirst()
        .orElseThrow();
  }
}
