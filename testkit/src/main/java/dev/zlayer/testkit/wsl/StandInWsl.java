package dev.zlayer.testkit.wsl;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * A script that behaves like {@code wsl.exe} as far as it is used: it lists distributions in 16-bit
 * text, and runs words in the distribution {@code Debian}, which is a mount namespace and a root of
 * its own, made of this machine's programs. What is mounted there stays until it is closed, as in a
 * distribution that goes on; a directory of this side is its drive C.
 */
public final class StandInWsl implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private static final String PROGRAM =
      """
      #!/bin/bash
      root='HERE/root' namespace='HERE/namespace/mnt'
      wide() { iconv -t UTF-16LE; }
      if [ "$1" = --list ]; then
        state=Running; [ -e 'HERE/stopped' ] && state=Stopped
        printf '  NAME      STATE           VERSION\\r\\n* Debian    %s         2\\r\\n  Old       Stopped         1\\r\\n  Broken    Stopped         2\\r\\n' $state | wide
        exit 0
      fi
      [ "$1" = -d ] || exit 64
      if [ "$2" != Debian ] || [ -e 'HERE/stopped' ]; then
        printf 'The distribution failed to start.\\r\\n' | wide >&2
        exit 1
      fi
      shift 2
      [ "$1" = -u ] && [ "$2" = root ] || exit 64
      shift 2
      directory=/
      if [ "$1" = --cd ]; then directory=$2; shift 2; fi
      [ "$1" = --exec ] || exit 64
      shift
      exec nsenter --mount="$namespace" chroot "$root" \
        /bin/sh -c 'cd "$0" && exec "$@"' "$directory" "$@"
      """;

  private static final String WSLPATH =
      """
      #!/bin/sh
      case "$1 $2" in
        "-u HERE/windows"*) echo "/mnt/c${2#HERE/windows}" ;;
        *) echo "wslpath: $2" >&2; exit 1 ;;
      esac
      """;

  private static final String OPEN =
      """
      set -eu
      cd "$1"
      mkdir -p namespace
      mount --bind namespace namespace
      mount --make-private namespace
      touch namespace/mnt
      exec unshare --mount=namespace/mnt --propagation private /bin/sh -euc '
        cd "$1"
        mkdir -p root windows own root/mnt/c root/run root/tmp root/var root/root
        mount --bind root root
        cd root
        for part in bin sbin lib lib64; do
          if [ -L "/$part" ]; then
            ln -sfn "$(readlink "/$part")" "$part"
          elif [ -d "/$part" ]; then
            mkdir -p "$part"; mount --rbind "/$part" "$part"
          fi
        done
        for part in etc proc sys; do mkdir -p "$part"; mount --rbind "/$part" "$part"; done
        mkdir -p usr dev
        mount -t tmpfs own ../own
        mkdir ../own/upper ../own/work
        mount -t overlay -o "lowerdir=/usr,upperdir=$1/own/upper,workdir=$1/own/work" usr usr
        mv ../wslpath usr/bin/wslpath
        mount -t tmpfs dev dev
        cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty dev/
        mkdir dev/pts dev/shm dev/mqueue
        mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
        ln -s pts/ptmx dev/ptmx
        mount -t tmpfs shm dev/shm
        mount --bind ../windows mnt/c
      ' sh "$1"
      """;

  private static final String CLOSE = "cd \"$1\"; umount namespace/mnt; umount namespace";

  private static final String GPU =
      "mknod /dev/dxg c 1 3; mkdir -p /usr/lib/wsl/lib; echo driver >/usr/lib/wsl/lib/libdxcore.so";

  private final Path directory;

  private StandInWsl(Path directory) {
    this.directory = directory;
  }

  /** Below a directory that only this one uses. */
  public static StandInWsl open(Path directory) {
    var standIn = new StandInWsl(directory);
    try {
      Files.createDirectories(standIn.windows());
      standIn.script("wsl.exe", PROGRAM);
      standIn.script("wslpath", WSLPATH);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    standIn.run(Command.of("/bin/sh", "-c", OPEN, "sh", directory.toString()));
    return standIn;
  }

  private void script(String name, String text) throws IOException {
    Path file = directory.resolve(name);
    Files.writeString(file, text.replace("HERE", directory.toString()));
    if (!file.toFile().setExecutable(true)) {
      throw new IOException("cannot make %s executable".formatted(file));
    }
  }

  /** What stands for {@code wsl.exe}. */
  public Path program() {
    return directory.resolve("wsl.exe");
  }

  /** What the distribution sees as drive C. */
  public Path windows() {
    return directory.resolve("windows");
  }

  /** The root of the distribution, without what is mounted there. */
  public Path root() {
    return directory.resolve("root");
  }

  /** Gives the distribution what Windows gives one on a machine with a GPU. */
  public void addGpu() {
    inside(GPU);
  }

  /** Runs a script of the distribution's shell; what it printed. */
  public String inside(String script) {
    return run(
        Command.of(
            program().toString(),
            "-d",
            "Debian",
            "-u",
            "root",
            "--exec",
            "/bin/sh",
            "-ec",
            script));
  }

  /** From now on, or not any more, the distribution does not start. */
  public void refuseToStart(boolean refuse) throws IOException {
    if (refuse) {
      Files.writeString(directory.resolve("stopped"), "");
    } else {
      Files.deleteIfExists(directory.resolve("stopped"));
    }
  }

  private String run(Command command) {
    try {
      return Processes.check(command, Deadline.after(TIMEOUT)).stdout();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  /** Everything mounted in the distribution goes when its last process ends. */
  @Override
  public void close() {
    run(Command.of("/bin/sh", "-ec", CLOSE, "sh", directory.toString()));
  }
}
