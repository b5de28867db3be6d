package dev.zlayer.runtime.wsl;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Self;
import dev.zlayer.json.JsonText;
import dev.zlayer.runtime.oci.config.KernelFacts;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What the distribution is and has.
 *
 * @param data the agent's data directory as the distribution sees it
 */
record WslHost(KernelFacts facts, Path runc, Path conmon, String data) {
  private static final String LOOK =
      """
      echo "data $(wslpath -u "$1")"
      echo "machine $(uname -m)"
      echo "kernel $(uname -r)"
      echo "oom $(cat /proc/self/oom_score_adj)"
      for program in runc conmon catatonit tini; do
        if path=$(command -v "$program"); then echo "$program $path"; fi
      done
      cgroups=/sys/fs/cgroup
      if [ -e $cgroups/cgroup.controllers ]; then
        echo v2 true
        echo "controllers $(cat $cgroups/cgroup.controllers)"
        echo swap true
        if [ -d /run/systemd/system ]; then echo systemd true; fi
        if grep -qw io $cgroups/cgroup.controllers; then echo io true; fi
      else
        echo "controllers $(ls $cgroups | tr ',\\n' '  ')"
        if [ -e $cgroups/memory/memory.memsw.limit_in_bytes ]; then echo swap true; fi
        if [ -e $cgroups/blkio/blkio.weight ] || [ -e $cgroups/blkio/blkio.bfq.weight ]; then
          echo io true
        fi
      fi
      grep ^CapEff /proc/self/status
      cat /proc/self/limits
      """;

  private static final String FEATURES = "runc features 2>/dev/null || echo '{}'";

  static WslHost read(WslShell shell, Path dataDirectory) throws InterruptedException {
    try {
      List<String> lines = shell.lines(LOOK, dataDirectory.toString());
      return parse(
          lines, Set.copyOf(JsonText.parse(shell.run(FEATURES)).at("mountOptions").strings()));
    } catch (IOException | AgentException.InvalidSpec e) {
      throw new AgentException.Configuration(
          "cannot learn what the WSL distribution '%s' can do: %s"
              .formatted(shell.distribution().name(), e.getMessage()),
          e);
    }
  }

  static WslHost parse(List<String> lines, Set<String> mountOptions) throws IOException {
    Map<String, String> found = new HashMap<>();
    for (String line : lines) {
      int space = line.indexOf(' ');
      if (space > 0) {
        found.putIfAbsent(line.substring(0, space), line.substring(space + 1));
      }
    }
    var facts =
        new KernelFacts(
            need(found, "machine"),
            need(found, "kernel"),
            Self.capabilities(lines),
            false,
            Self.hardLimits(lines),
            Integer.parseInt(need(found, "oom")),
            new KernelFacts.Cgroup(
                found.containsKey("v2"),
                found.containsKey("systemd"),
                found.containsKey("swap"),
                found.containsKey("io"),
                new HashSet<>(List.of(need(found, "controllers").strip().split(" +", -1))),
                Optional.of("/zlayer")),
            mountOptions,
            Optional.empty(),
            Optional.ofNullable(found.getOrDefault("catatonit", found.get("tini"))).map(Path::of),
            Optional.empty(),
            Optional.empty());
    return new WslHost(
        facts, Path.of(need(found, "runc")), Path.of(need(found, "conmon")), need(found, "data"));
  }

  private static String need(Map<String, String> found, String name) throws IOException {
    String value = found.get(name);
    if (value == null) {
      throw new IOException("it does not report its " + name);
    }
    return value;
  }
}
