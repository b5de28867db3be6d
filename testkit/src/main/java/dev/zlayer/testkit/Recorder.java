package dev.zlayer.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;

/** Programs that write down what they were given, open files and variables, before they work. */
public final class Recorder {
  /** Variables that every child may have, and those that shells make. */
  public static final String HARMLESS =
      "PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|TMPDIR|XDG_RUNTIME_DIR"
          + "|DBUS_SESSION_BUS_ADDRESS|PWD|OLDPWD|SHLVL|_";

  private Recorder() {}

  /** Makes a program that records into {@code seen} and then becomes {@code real}. */
  public static void wrap(Path program, Path real, Path seen) throws IOException {
    Files.writeString(
        program,
        """
        #!/bin/sh
        out=%s/%s.$$
        for f in /proc/$$/fd/*; do echo "fd ${f##*/} $(readlink "$f")"; done >"$out"
        tr '\\\\0' '\\\\n' </proc/$$/environ | sed -n 's/^\\\\([A-Za-z_][A-Za-z_0-9]*\\\\)=.*/env \\\\1/p' >>"$out"
        exec %s "$@"
        """
            .formatted(seen, program.getFileName(), real));
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  /**
   * Fails when one of the recorded programs got a file other than pipes, sockets of its own and
   * {@code /dev/null}, or a variable that is neither harmless nor one of {@code others}.
   *
   * @param programs those that have to have run
   */
  public static void check(Path seen, String others, List<String> programs) throws IOException {
    var faults = new ArrayList<String>();
    var ran = new ArrayList<String>();
    try (var records = Files.newDirectoryStream(seen)) {
      for (Path record : records) {
        String name = record.getFileName().toString();
        ran.add(name.substring(0, name.lastIndexOf('.')));
        for (String line : Files.readAllLines(record)) {
          if (!fine(line, others, seen)) {
            faults.add(name + ": " + line);
          }
        }
      }
    }
    if (!faults.isEmpty() || !ran.containsAll(programs)) {
      throw new AssertionError("ran %s, wanted %s, and got %s".formatted(ran, programs, faults));
    }
  }

  private static boolean fine(String line, String others, Path seen) {
    String[] words = line.split(" ", 3);
    if (words[0].equals("env")) {
      return words[1].matches(HARMLESS + "|" + others);
    }
    String target = words.length < 3 ? "" : words[2];
    return target.isEmpty() // closed again, such as the listing itself
        || target.matches("pipe:.*|/dev/null|/proc/\\d+/fd")
        || target.startsWith(seen.toString())
        || (words[1].equals("2") && target.startsWith("/memfd:errors")) // made for this child
        || (Integer.parseInt(words[1]) >= 10 && Files.isExecutable(Path.of(target))); // the script
  }
}
