package dev.zlayer.cluster.network;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/**
 * WireGuard on this host: that of the kernel, or else the program {@code wireguard-go}, which makes
 * the same interface. The program outlives the agent. A shell starts it again when it was killed,
 * and sets the interface up as it was; both end when the interface is removed. A lock keeps a
 * second one away.
 */
public final class WireGuard {
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final Duration STEP = Duration.ofMillis(20);

  /** It ends with 0 when its interface was removed. */
  private static final String SUPERVISE =
      """
      device=$1; setup=$2; log=$3; again=
      while :; do
        wireguard-go -f "$device" >"$log" 2>&1 &
        program=$!
        tries=0
        until wg show "$device" >/dev/null 2>&1 || [ $tries -ge 100 ]; do
          sleep 0.05; tries=$((tries + 1))
        done
        if [ -n "$again" ]; then sh "$setup"; fi
        wait $program && exit
        again=1
        sleep 1
      done
      """;

  /** A lock that a child inherited would keep whoever reads our output waiting. */
  private static final String START = "exec </dev/null >/dev/null 2>&1; exec setsid --fork \"$@\"";

  private final List<String> before;

  /**
   * @param before the words before every program, such as those that enter a network namespace
   */
  WireGuard(List<String> before) {
    this.before = List.copyOf(before);
  }

  /** Why this host cannot encrypt. */
  public static Optional<String> obstacle() throws InterruptedException {
    var here = new WireGuard(List.of());
    if (!here.found("wg")) {
      return Optional.of(
          "this cluster encrypts packets between nodes, which needs the program wg; install the"
              + " package wireguard-tools");
    }
    if (here.kernel() || (here.found("wireguard-go") && here.tunnels())) {
      return Optional.empty();
    }
    return Optional.of(
        "this cluster encrypts packets between nodes, and the kernel of this machine has no"
            + " WireGuard; load its module wireguard, or install the package wireguard-go, which"
            + " needs /dev/net/tun");
  }

  private boolean found(String program) throws InterruptedException {
    return call(List.of("sh", "-c", "command -v " + program)).success();
  }

  private boolean tunnels() throws InterruptedException {
    return call(List.of("test", "-c", "/dev/net/tun")).success();
  }

  /** A kernel says so only when it is asked for an interface. */
  private boolean kernel() throws InterruptedException {
    String probe = "zlwg%06x".formatted(ThreadLocalRandom.current().nextInt(1 << 24));
    boolean made = call(List.of("ip", "link", "add", probe, "type", "wireguard")).success();
    if (made) {
      var _ = call(List.of("ip", "link", "delete", "dev", probe));
    }
    return made;
  }

  /** Whether that is why the kernel refused to make an interface. */
  static boolean absent(CommandResult refused) {
    String reason = refused.stderr();
    return reason.contains("Unknown device type") || reason.contains("not supported");
  }

  /**
   * Has the program make the interface; returns when it can be set up.
   *
   * @param setup commands for a shell, as of the time when the program is started again
   */
  void start(String device, Path setup) throws InterruptedException {
    if (!found("wireguard-go")) {
      throw new AgentException.Configuration(
          "cannot encrypt packets between nodes: the kernel has no WireGuard, and wireguard-go is"
              + " not installed");
    }
    Deadline deadline = Deadline.after(LIMIT);
    CommandResult result =
        call(
            List.of(
                "sh",
                "-c",
                START,
                "sh",
                "flock",
                "-n",
                "-o",
                setup.resolveSibling("wireguard.lock").toString(),
                "sh",
                "-c",
                SUPERVISE,
                "wireguard",
                device,
                setup.toString(),
                setup.resolveSibling("wireguard.log").toString()));
    if (!result.success()) {
      throw new AgentException.Network("cannot start wireguard-go: " + result.lastLine(), null);
    }
    while (!call(List.of("wg", "show", device)).success()) {
      deadline.check("starting wireguard-go");
      Pauses.REAL.pause(STEP);
    }
  }

  private CommandResult call(List<String> command) throws InterruptedException {
    var words = new ArrayList<>(before);
    words.addAll(command);
    return Processes.run(Command.of(words), Deadline.after(LIMIT));
  }
}
