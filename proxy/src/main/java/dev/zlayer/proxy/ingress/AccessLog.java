package dev.zlayer.proxy.ingress;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The access log. HAProxy writes each line into a pipe, without waiting when it is full; a small
 * process of its own, which outlives the agent as HAProxy does, moves them into numbered files of
 * limited size and removes the oldest.
 */
final class AccessLog {
  /** Its standard input is the pipe, since that needs no number that may be in use. */
  static final String DESCRIPTOR = "fd@0";

  private static final String PIPE = "access";
  private static final String LOCK = "access.lock";
  private static final long FILE_BYTES = 8 << 20;
  private static final int FILES = 8;
  private static final long RECENT_BYTES = 4 << 20;
  private static final Duration LIMIT = Duration.ofSeconds(10);

  /**
   * Copies at most so many bytes. It waits for the first ones, and then a moment before it asks for
   * more: to be woken for each line would cost as much as a third of a request.
   */
  private static final String COPY =
      """
      my $left = shift;
      fcntl(STDIN, 1031, 1 << 20);
      while ($left > 0) {
        my $read = sysread(STDIN, my $bytes, $left < 262144 ? $left : 262144);
        exit 1 if !defined $read;
        last if !$read;
        for (my $at = 0; $at < $read;) {
          $at += syswrite(STDOUT, $bytes, $read - $at, $at) || exit 1;
        }
        $left -= $read;
        select(undef, undef, undef, 0.005);
      }
      """;

  /**
   * It ends when neither HAProxy nor its supervisor has the pipe any more. Opening the pipe for
   * both first keeps it from waiting for a HAProxy that has ended. A file that could not be written
   * to its end is followed by the next one.
   */
  private static final String MOVE =
      """
      [ -p "$1" ] || exit 0
      umask 077
      mkdir -p "$2" || exit 0
      exec 4<>"$1"
      exec 3<"$1" 4>&-
      i=$(ls "$2" | sort -n | tail -n 1)
      i=${i:-0}
      while :; do
        i=$((i + 1))
        if [ -x /usr/bin/perl ]; then
          /usr/bin/perl -e "$5" "$3" "$2" <&3 >"$2/$i"
        else
          stdbuf -o0 head -c "$3" <&3 >"$2/$i"
        fi
        ended=$?
        rm -f "$2/$((i - $4))"
        [ -s "$2/$i" ] || rm -f "$2/$i"
        [ $ended = 0 ] || sleep 0.1
        [ $ended != 0 ] || [ -e "$2/$i" ] || exit 0
      done
      """;

  /**
   * Starts what moves lines again when it was killed. As work in the background none of it
   * interrupts HAProxy when it wakes up; the pipe has room for what comes until its turn.
   */
  private static final String SUPERVISE =
      """
      chrt --batch --pid 0 $$
      move=$1
      shift
      until /bin/sh -c "$move" sh "$@" 9>&-; do sleep 0.1 9>&-; done
      """;

  /**
   * The lock is taken before this returns, so that whoever stops HAProxy right afterwards waits for
   * the end of what was started here. Where another one still has it, which may be ending, the next
   * one waits for it in the background.
   */
  private static final String START =
      """
      exec >/dev/null 2>&1 </dev/null
      lock=$1
      shift
      exec 9>>"$lock"
      flock -n 9 && exec setsid --fork "$@"
      exec 9>&-
      exec setsid --fork flock -w 2 -o "$lock" "$@"
      """;

  private final Path pipe;
  private final Path lock;
  private final Path directory;
  private final long fileBytes;

  AccessLog(IngressConfig config, long fileBytes) {
    this.pipe = pipe(config);
    this.lock = config.directory().resolve(LOCK);
    this.directory = config.state().resolve("access");
    this.fileBytes = fileBytes;
  }

  AccessLog(IngressConfig config) {
    this(config, FILE_BYTES);
  }

  static Path pipe(IngressConfig config) {
    return config.directory().resolve(PIPE);
  }

  /** Lets lines be moved to files, unless that is already done. */
  void start() throws InterruptedException {
    CommandResult result =
        Processes.run(
            Command.of(
                "/bin/sh",
                "-c",
                START,
                "sh",
                lock.toString(),
                "/bin/sh",
                "-c",
                SUPERVISE,
                "sh",
                MOVE,
                pipe.toString(),
                directory.toString(),
                Long.toString(fileBytes),
                Integer.toString(FILES),
                COPY),
            Deadline.after(LIMIT));
    if (!result.success()) {
      throw new AgentException.Configuration("cannot write the access log: " + result.lastLine());
    }
  }

  /** Whether lines are moved to files. */
  boolean started() throws InterruptedException {
    return !unlocked(lock, Duration.ZERO);
  }

  /** Waits until all lines are in files, after HAProxy has ended. */
  void awaitEnd(Duration limit) throws InterruptedException {
    if (!unlocked(lock, limit)) {
      throw new AgentException.Timeout("waiting for the end of the access log", limit);
    }
  }

  /** Whether nobody has the lock, or gives it back in time. */
  static boolean unlocked(Path lock, Duration limit) throws InterruptedException {
    return !Files.exists(lock)
        || Processes.run(
                Command.of(
                    "flock",
                    "-w",
                    Double.toString(limit.toMillis() / 1000.0),
                    lock.toString(),
                    "true"),
                Deadline.after(limit.plus(LIMIT)))
            .success();
  }

  /** Reads the lines of a service from a time on. */
  AccessLogReader read(ServiceKey service, Optional<Instant> since) {
    return new AccessLogReader(directory, Optional.of(service), since, 0);
  }

  /** How long responses took since then, among the newest lines of all services. */
  Map<ServiceKey, Ingress.Latency> latencies(Instant since) {
    var times = new HashMap<ServiceKey, LatencyHistogram>();
    try (var reader =
        new AccessLogReader(
            directory, Optional.empty(), Optional.of(since), Math.max(0, size() - RECENT_BYTES))) {
      for (var line = reader.next(); line.isPresent(); line = reader.next()) {
        AccessLogReader.Line request = line.get();
        request
            .millis()
            .ifPresent(
                millis ->
                    times
                        .computeIfAbsent(request.service(), _ -> new LatencyHistogram())
                        .add(millis, request.failed()));
      }
    }
    var latencies = new HashMap<ServiceKey, Ingress.Latency>();
    times.forEach(
        (service, one) ->
            latencies.put(
                service,
                new Ingress.Latency(
                    one.total(),
                    one.errors(),
                    one.percentile(50),
                    one.percentile(95),
                    one.percentile(99))));
    return latencies;
  }

  private long size() {
    long size = 0;
    try {
      for (Path file : AccessLogReader.files(directory)) {
        size += Files.size(file);
      }
    } catch (IOException _) {
      return 0; // a file was removed meanwhile: the reader begins earlier
    }
    return size;
  }
}
