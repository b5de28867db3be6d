package dev.zlayer.bench;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What the command line asks for.
 *
 * @param quick few rounds and small sizes: tells whether everything runs, not how fast
 * @param peers which others take part if they are installed
 * @param runtime the OCI runtime that has to be used by the floor and by ours; empty for any
 * @param project where the sources and {@code dist} are
 * @param directory everything made for this run goes below it
 * @param controlGroup the parent of every control group made for this run
 */
public record Options(
    boolean quick,
    List<String> peers,
    String runtime,
    List<String> works,
    Path project,
    Path directory,
    String controlGroup) {
  public Options {
    peers = List.copyOf(peers);
    works = List.copyOf(works);
  }

  static Options parse(String[] arguments, List<String> knownWorks) {
    boolean quick = false;
    List<String> peers = List.of("containerd", "docker", "podman");
    String runtime = "";
    var works = new ArrayList<String>();
    Path project = Path.of("").toAbsolutePath();
    Path directory = Path.of("");
    String group = "";
    for (String argument : arguments) {
      String value = argument.substring(argument.indexOf('=') + 1);
      switch (argument.replaceFirst("=.*", "")) {
        case "--quick" -> quick = true;
        case "--peers" -> peers = List.of(value.split(","));
        case "--runtime" -> runtime = value;
        case "--project" -> project = Path.of(value);
        case "--directory" -> directory = Path.of(value);
        case "--control-group" -> group = value;
        default -> works.add(known(argument, knownWorks));
      }
    }
    if (directory.toString().isEmpty() || group.isEmpty()) {
      throw new IllegalArgumentException("run ./benchmark, which prepares a place for this");
    }
    return new Options(
        quick,
        peers,
        runtime,
        works.isEmpty() ? knownWorks : works,
        project,
        directory,
        "/" + group);
  }

  private static String known(String work, List<String> knownWorks) {
    if (!knownWorks.contains(work)) {
      throw new IllegalArgumentException(
          "'%s' is no work: choose from %s".formatted(work, String.join(", ", knownWorks)));
    }
    return work;
  }

  /** The first number in a whole run, the second in a quick one. */
  public int size(int whole, int quickly) {
    return quick ? quickly : whole;
  }
}
