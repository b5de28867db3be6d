package dev.zlayer.bench;

import dev.zlayer.host.linux.Machine;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** The machine and the programs that figures belong to. */
final class Facts {
  private Facts() {}

  static Json read() throws IOException, InterruptedException {
    String processor =
        Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
            .filter(line -> line.startsWith("model name"))
            .map(line -> line.replaceFirst(".*: ", ""))
            .findFirst()
            .orElse(Machine.architecture());
    return Json.object()
        .put("at", Instant.now().truncatedTo(ChronoUnit.SECONDS))
        .put("cpus", Runtime.getRuntime().availableProcessors())
        .put("processor", processor)
        .put("memoryMib", Machine.memoryBytes() >> 20)
        .put("kernel", Machine.kernel())
        .put("load", Files.readString(Path.of("/proc/loadavg")).strip())
        .put("java", Runtime.version())
        .put("runc", version("runc", "--version"))
        .put("crun", version("crun", "--version"))
        .put("conmon", version("conmon", "--version"))
        .put("containerd", version("containerd", "--version"))
        .put("docker", version("dockerd", "--version"))
        .put("podman", version("podman", "--version"))
        .build();
  }

  private static String version(String... command) throws InterruptedException {
    try {
      return Processes.check(Command.of(command), Deadline.after(Duration.ofSeconds(20)))
          .stdout()
          .lines()
          .findFirst()
          .orElse("");
    } catch (dev.zlayer.error.AgentException e) {
      return "absent";
    }
  }
}
