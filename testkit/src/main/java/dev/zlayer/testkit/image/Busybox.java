package dev.zlayer.testkit.image;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The files of a small system around the host's static busybox (package busybox-static). */
final class Busybox {
  private static final Path PROGRAM = Path.of("/bin/busybox");
  private static final List<String> DIRECTORIES =
      List.of("bin", "dev", "etc", "home", "proc", "sbin", "sys", "usr", "usr/bin", "var", "run");
  private static final String PASSWD =
      """
      root:x:0:0:root:/root:/bin/sh
      nobody:x:65534:65534:nobody:/nonexistent:/bin/false
      app:x:1000:1000:app:/home/app:/bin/sh
      """;
  private static final String GROUP =
      """
      root:x:0:
      staff:x:50:app
      app:x:1000:
      nogroup:x:65534:
      """;

  private Busybox() {}

  static List<TarEntry> entries() {
    var entries = new ArrayList<TarEntry>();
    DIRECTORIES.forEach(name -> entries.add(TarEntry.directory(name)));
    entries.add(TarEntry.directory("root").withMode(0700));
    entries.add(TarEntry.directory("tmp").withMode(01777));
    entries.add(TarEntry.directory("home/app").withOwner(1000, 1000));
    entries.add(TarEntry.file("etc/passwd", PASSWD));
    entries.add(TarEntry.file("etc/group", GROUP));
    entries.add(TarEntry.file("bin/busybox", read()).withMode(0755));
    for (String applet : applets()) {
      if (!applet.equals("busybox")) {
        entries.add(TarEntry.symlink("bin/" + applet, "busybox"));
      }
    }
    return entries;
  }

  private static byte[] read() {
    try {
      return Files.readAllBytes(PROGRAM);
    } catch (IOException e) {
      throw new UncheckedIOException("install busybox-static: cannot read " + PROGRAM, e);
    }
  }

  private static List<String> applets() {
    try {
      var command = Command.of(PROGRAM.toString(), "--list");
      return Processes.check(command, Deadline.after(Duration.ofSeconds(10)))
          .stdout()
          .lines()
          .toList();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while listing applets", e);
    }
  }
}
