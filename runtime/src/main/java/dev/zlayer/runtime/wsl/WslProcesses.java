package dev.zlayer.runtime.wsl;

import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.process.Command;
import dev.zlayer.runtime.lifecycle.ContainerRecord;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Processes of the distribution, told apart from later ones with the same number. */
record WslProcesses(WslShell shell) {
  private static final String STAT =
      "for pid; do cat \"/proc/$pid/stat\" 2>/dev/null || echo gone; done";

  /** {@code alive} holds while that process, and no later one, exists. */
  private static final String ALIVE =
      """
      pid=$1 ticks=$2
      alive() {
        stat=$(cat "/proc/$pid/stat" 2>/dev/null) || return 1
        set -- ${stat##*) }
        case $1 in Z|X) return 1 ;; esac
        [ "$ticks" = "${20}" ]
      }
      """;

  private static final String WAIT =
      ALIVE
          + """
          if alive; then exec tail --pid="$pid" -s 0.1 -f /dev/null; fi
          """;

  private static final String END =
      ALIVE
          + """
          for moment in 1 2 3 4 5 6 7 8 9 10; do
            if ! alive; then exit 0; fi
            sleep 0.1
          done
          kill -9 "$pid"
          while alive; do sleep 0.1; done
          """;

  private static final String KILL = "if alive; then kill -9 \"$pid\"; fi";

  /** The monitor and the first process of a container that was just created. */
  ContainerRecord.Processes of(long monitor, long first)
      throws ToolFailed, IOException, InterruptedException {
    List<Optional<ProcessIdentity>> found = identities(monitor, first);
    return new ContainerRecord.Processes(
        found.get(0).orElseThrow(() -> died("monitor", monitor)),
        found.get(1).orElseThrow(() -> died("first process", first)));
  }

  private static ToolFailed died(String what, long pid) {
    return new ToolFailed("the %s (%d) died at once".formatted(what, pid));
  }

  private List<Optional<ProcessIdentity>> identities(long... pids)
      throws IOException, InterruptedException {
    var words = new String[pids.length];
    for (int i = 0; i < pids.length; i++) {
      words[i] = Long.toString(pids[i]);
    }
    List<String> lines = shell.lines(STAT, words);
    var found = new ArrayList<Optional<ProcessIdentity>>();
    for (int i = 0; i < pids.length; i++) {
      found.add(ProcessIdentity.parse(pids[i], lines.get(i)));
    }
    return found;
  }

  /**
   * A command that ends when the process has ended. While it runs Windows does not stop the
   * distribution for want of use, so it is left to itself when the agent ends.
   */
  Command wait(ProcessIdentity process) {
    return shell.distribution().inside(script(WAIT, process));
  }

  /** A process that ends by itself in a moment; one that does not is helped. */
  void end(ProcessIdentity process) throws IOException, InterruptedException {
    shell.run(END, Long.toString(process.pid()), Long.toString(process.startTicks()));
  }

  void kill(ProcessIdentity process) throws IOException, InterruptedException {
    shell.run(ALIVE + KILL, Long.toString(process.pid()), Long.toString(process.startTicks()));
  }

  private static Command script(String script, ProcessIdentity process) {
    return WslShell.command(
        script, Long.toString(process.pid()), Long.toString(process.startTicks()));
  }
}
