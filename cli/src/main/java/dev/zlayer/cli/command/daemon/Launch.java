package dev.zlayer.cli.command.daemon;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * How to run this very program once more, as a daemon: by its launcher, or from the class path in a
 * test.
 */
final class Launch {
  private Launch() {}

  static List<String> words() {
    Path launcher = Path.of(System.getProperty("zlayer.home", "")).resolve("bin/zlayer");
    if (Files.isExecutable(launcher)) {
      return List.of(launcher.toAbsolutePath().toString());
    }
    var words = new ArrayList<String>();
    words.add(Path.of(System.getProperty("java.home", ""), "bin", "java").toString());
    words.add("--enable-native-access=ALL-UNNAMED");
    words.add("-XX:+UseSerialGC");
    words.add("-XX:TieredStopAtLevel=1");
    words.add("-XX:+ExitOnOutOfMemoryError");
    words.add("-cp");
    words.add(System.getProperty("java.class.path", ""));
    words.add("dev.zlayer.cli.Main");
    return words;
  }
}
