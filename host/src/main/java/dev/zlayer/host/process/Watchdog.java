package dev.zlayer.host.process;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Ends a process when a time has passed that others have to move on: two shells, which do nothing
 * else and outlive the agent. Each ends the process as well when the other one is no longer there,
 * so that nobody can end the watchdog and leave the process running. They are in no control group
 * of the agent, and the kernel does not choose them when memory runs out.
 *
 * <p>They read the time from where {@link dev.zlayer.host.linux.BootClock} reads it, once a second:
 * a sleep alone would not count the time in which the machine was suspended.
 */
final class Watchdog {
  /** For the end of a process whose watchdog was ended. */
  static final String ALONE = "its watchdog was ended";

  private static final Duration STEP = Duration.ofMillis(10);

  /** On a machine that is busy a start takes its time. */
  private static final Duration LIMIT = Duration.ofSeconds(15);

  /**
   * The last line of a stat file is parsed behind its last parenthesis: the name before it is
   * chosen by the process, and may have blanks, parentheses and line breaks. What cannot be read
   * while the process is there counts as alive, what is no number as passed.
   */
  private static final String SCRIPT =
      """
      until=$1 record=$2 note=$3 pid=$4 ticks=$5 reason=$6
      look() {
        state= parent= began= last=
        while read -r line; do last=$line; done <"/proc/$1/stat"
        set -- ${last##*) }
        state=$1 parent=$2
        [ $# -ge 20 ] && shift 19 && began=$1
      }
      alive() {
        [ -d "/proc/$pid" ] || return 1
        look "$pid"
        [ -n "$began" ] || [ -d "/proc/$pid" ] || return 1
        case $state in Z|X) return 1;; esac
        [ -z "$began" ] || [ "$began" = "$ticks" ]
      }
      finish() {
        alive || return
        echo "$1" >"$note"
        while alive; do
          kill -9 "$pid"
          sleep 0.2 || sleep 1
        done
      }
      accompanied() {
        look "$1"
        case $state in Z|X|'') return 1;; esac
        [ "$parent" = "$$" ]
      }
      passed() {
        at=0 now=999999999999
        read -r at rest <"$until"
        read -r now rest </proc/uptime
        case $at in ''|*[!0-9]*) at=0;; esac
        [ "${now%.*}" -ge "$at" ]
      }
      watch() {
        trap 'finish "ALONE"' EXIT
        trap 'exit 1' HUP INT TERM PIPE
        while alive; do
          accompanied "$1" || break
          if passed; then
            finish "$reason"
            break
          fi
          sleep 1
        done
      }
      group=/sys/fs/cgroup
      if [ -e $group/cgroup.controllers ]; then
        echo $$ >$group/cgroup.procs
      else
        for group in $group/*/cgroup.procs; do echo $$ >"$group"; done
      fi
      echo -1000 >/proc/self/oom_score_adj
      look $$
      own=$began
      watch self &
      other=$!
      accompanied $other || exit 1
      echo "$$ $own $pid $ticks" >"$record"
      watch $other
      read -r mine rest <"$record"
      [ "$mine" = "$$" ] && rm -f "$record"
      """
          .replace("ALONE", ALONE);

  private static final String START =
      "exec </dev/null >/dev/null 2>&1; cd /; exec setsid --fork \"$@\"";

  private Watchdog() {}

  /**
   * Returns when it watches.
   *
   * @param until has the second of the boot clock at which the process ends
   * @param record is where it writes that it watches, and whom
   * @param note gets the reason when it ends the process
   */
  static void start(Path until, Path record, Path note, ProcessIdentity process, String reason)
      throws IOException, InterruptedException {
    Files.deleteIfExists(record);
    Deadline deadline = Deadline.after(LIMIT);
    CommandResult started =
        Processes.run(
            Command.of(
                List.of(
                    "/bin/sh",
                    "-c",
                    START,
                    "sh",
                    "/bin/sh",
                    "-c",
                    SCRIPT,
                    "zlayer-watchdog",
                    until.toString(),
                    record.toString(),
                    note.toString(),
                    Long.toString(process.pid()),
                    Long.toString(process.startTicks()),
                    reason)),
            deadline);
    if (!started.success()) {
      throw new AgentException.Configuration("cannot start a watchdog: " + started.lastLine());
    }
    while (watched(record).isEmpty()) {
      deadline.check("starting a watchdog");
      Pauses.REAL.pause(STEP);
    }
  }

  /** Whom a watchdog watches, and itself. */
  record Watched(ProcessIdentity watchdog, ProcessIdentity process) {}

  /** Empty while it is not recorded that it watches. */
  static Optional<Watched> watched(Path record) throws IOException {
    String text;
    try {
      text = Files.readString(record);
    } catch (NoSuchFileException _) {
      return Optional.empty();
    }
    String[] words = text.strip().split(" ", -1);
    if (!text.endsWith("\n") || words.length != 4) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          new Watched(
              new ProcessIdentity(Long.parseLong(words[0]), Long.parseLong(words[1])),
              new ProcessIdentity(Long.parseLong(words[2]), Long.parseLong(words[3]))));
    } catch (NumberFormatException _) {
      return Optional.empty();
    }
  }
}
