package dev.zlayer.runtime.wsl;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A script that behaves like wsl.exe as far as it is used: it lists distributions in 16-bit text,
 * and runs words in a mount namespace and root of their own, made of this machine's programs.
 */
final class StandInWsl {
  private static final String SCRIPT =
      """
      #!/bin/bash
      root='%s'
      if [ "$1" = --list ]; then
        printf '  NAME      STATE           VERSION\\r\\n* Debian    Running         2\\r\\n  Old       Stopped         1\\r\\n  Broken    Stopped         2\\r\\n' | iconv -t UTF-16LE
        exit 0
      fi
      [ "$1" = -d ] || exit 64
      case $2 in
        Debian) ;;
        *) printf 'The distribution failed to start.\\r\\n' | iconv -t UTF-16LE >&2; exit 1 ;;
      esac
      shift 2
      directory=/
      if [ "$1" = --cd ]; then directory=$2; shift 2; fi
      [ "$1" = --exec ] || exit 64
      shift
      exec unshare --mount --propagation private /bin/sh -c '
        root=$1; directory=$2; shift 2
        mount --bind "$root" "$root"
        for part in usr bin sbin lib lib64 etc dev proc sys; do
          if [ -d "/$part" ]; then
            mkdir -p "$root/$part"; mount --rbind "/$part" "$root/$part"
          fi
        done
        cd "$root"
        exec chroot . /bin/sh -c "cd \\"\\$0\\"; exec \\"\\$@\\"" "$directory" "$@"
      ' sh "$root" "$directory" "$@"
      """;

  private StandInWsl() {}

  /** Puts the script into a directory and returns its path. */
  static Path write(Path directory, Path root) throws IOException {
    Files.createDirectories(root);
    Path script = directory.resolve("wsl.exe");
    Files.writeString(script, SCRIPT.formatted(root));
    if (!script.toFile().setExecutable(true)) {
      throw new IOException("cannot make the script executable");
    }
    return script;
  }
}
