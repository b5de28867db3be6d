package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Recorder;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What programs that the agent starts get of it: neither open files nor its variables. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class ChildProcessesIT {
  private static final String SECRET = "ZLAYER_TEST_SECRET_OF_THE_AGENT";

  @Test
  void noProgramGetsADescriptorOrAVariableOfTheAgent() throws Exception {
    try (var node = new Node()) {
      Path programs = Files.createDirectory(node.directory.resolve("programs"));
      Path seen = Files.createDirectory(node.directory.resolve("seen"));
      for (String name : List.of("runc", "nft", "conntrack")) {
        Path real = real(name);
        Recorder.wrap(programs.resolve(name), real, seen);
      }
      Recorder.wrap(programs.resolve("on-host"), Path.of("/bin/true"), seen);
      node.with("oci_runtime", programs.resolve("runc").toString()).with("host_commands", "true");
      Map<String, String> env =
          Map.of(SECRET, "x", "PATH", programs + ":" + System.getenv("PATH"), "AWS_SECRET", "x");
      try (var agent = ChildDaemon.start(node, env);
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
                  check: {type: command, command: "cat /proc/self/environ >/tmp/e; mv /tmp/e /tmp/environ; ls -l /proc/self/fd >/tmp/f; mv /tmp/f /tmp/fds"}
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
        checkMonitor(node, agent.pid());
        rest.delete("/deployments/children?wait=60s").expect(200);
      }
      Recorder.check(seen, "_OCI_[A-Z]+|ZLAYER_STEP_[A-Z_]+", List.of("runc", "nft", "on-host"));
    }
  }

  /** Fails when the monitor of a container of this node has a variable or a file of the agent. */
  private static void checkMonitor(Node node, long agent) throws IOException {
    ProcessHandle conmon =
        ProcessHandle.allProcesses()
            .filter(process -> process.info().command().orElse("").endsWith("/conmon"))
            .filter(process -> commandLine(process).contains(node.directory.toString()))
            .findFirst()
            .orElseThrow();
    assertThat(Files.readString(Path.of("/proc", conmon.pid() + "", "environ")).split("\0"))
        .isNotEmpty()
        .allMatch(
            variable ->
                variable.matches(
                    "(" + Recorder.HARMLESS + "|_OCI_[A-Z]+|GOGC|GOMAXPROCS)=(?s:.*)"));
    // What both have open was inherited, but for what carries no name of its own.
    Set<String> shared = new HashSet<>(openFiles(conmon.pid()));
    shared.retainAll(openFiles(agent));
    assertThat(shared).allMatch(file -> file.matches("pipe:.*|/dev/null|anon_inode:.*"));
  }

  private static String commandLine(ProcessHandle process) {
    try {
      return Files.readString(Path.of("/proc", process.pid() + "", "cmdline"));
    } catch (IOException _) { // it has ended
      return "";
    }
  }

  private static Set<String> openFiles(long pid) throws IOException {
    var targets = new HashSet<String>();
    try (var open = Files.newDirectoryStream(Path.of("/proc", pid + "", "fd"))) {
      for (Path file : open) {
        try {
          targets.add(Files.readSymbolicLink(file).toString());
        } catch (NoSuchFileException _) { // closed since it was listed
        }
      }
    }
    return targets;
  }

  private static Path real(String name) {
    return Stream.of(System.getenv("PATH").split(":"))
        .map(place -> Path.of(place, name))
        .filter(Files::isExecutable)
        .findFirst()
        .orElseThrow();
  }
}
