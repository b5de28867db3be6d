package dev.zlayer.bench;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * What the command line asks for.
 *
 * @param effort how long to measure
 * @param peers which others take part if they are installed; the bare parts always do
 * @param sizes how many of what, where the command line says it: containers, replicas, services ...
 * @param runtime the OCI runtime that has to be used by the floor and by ours; empty for any
 * @param project where the sources and {@code dist} are
 * @param directory everything made for this run goes below it
 * @param controlGroup the parent of every control group made for this run
 */
public record Options(
    Effort effort,
    List<String> peers,
    Map<String, Integer> sizes,
    String runtime,
    List<String> works,
    Path project,
    Path directory,
    String controlGroup) {
  /** Figures, rough figures, or only whether everything still runs. */
  public enum Effort {
    WHOLE,
    QUICK,
    SMOKE
  }

  private static final int SMOKE_SHARE = 8;
  private static final List<String> SIZES =
      List.of(
          "containers",
          "replicas",
          "checked",
          "services",
          "deployments",
          "revisions",
          "events",
          "jobs",
          "nodes",
          "minutes",
          "seed");

  /** Take so long that they have to be asked for. */
  private static final List<String> LONG = List.of("soak", "faults");

  private static final List<String> PEERS = List.of("containerd", "docker", "podman", "floor");

  public Options {
    peers = List.copyOf(peers);
    sizes = Map.copyOf(sizes);
    works = List.copyOf(works);
  }

  static Options parse(String[] arguments, List<String> knownWorks) {
    Effort effort = Effort.WHOLE;
    List<String> peers = PEERS;
    String runtime = "";
    var sizes = new HashMap<String, Integer>();
    var works = new ArrayList<String>();
    Path project = Path.of("").toAbsolutePath();
    Path directory = Path.of("");
    String group = "";
    Iterator<String> words = List.of(arguments).iterator();
    while (words.hasNext()) {
      String argument = words.next();
      String value =
          argument.equals("--peers") && words.hasNext()
              ? words.next()
              : argument.substring(argument.indexOf('=') + 1);
      switch (argument.replaceFirst("=.*", "")) {
        case "--quick" -> effort = Effort.QUICK;
        case "--smoke" -> {
          effort = Effort.SMOKE;
          peers = List.of();
        }
        case "--peers" -> peers = peers(value);
        case "--runtime" -> runtime = value;
        case "--project" -> project = Path.of(value);
        case "--directory" -> directory = Path.of(value);
        case "--control-group" -> group = value;
        default -> {
          String name = argument.replaceFirst("^--", "").replaceFirst("=.*", "");
          if (argument.startsWith("--") && SIZES.contains(name)) {
            sizes.put(name, number(argument, value));
          } else {
            works.add(known(argument, knownWorks));
          }
        }
      }
    }
    if (directory.toString().isEmpty() || group.isEmpty()) {
      throw new IllegalArgumentException("run ./benchmark, which prepares a place for this");
    }
    return new Options(
        effort,
        peers,
        sizes,
        runtime,
        works.isEmpty() ? unnamed(knownWorks, effort) : works,
        project,
        directory,
        "/" + group);
  }

  /** What is done when the command line names no work. */
  private static List<String> unnamed(List<String> knownWorks, Effort effort) {
    return knownWorks.stream()
        .filter(work -> effort == Effort.SMOKE || !LONG.contains(work))
        .toList();
  }

  private static int number(String argument, String value) {
    if (!value.matches("[0-9]{1,9}")) {
      throw new IllegalArgumentException("%s: write a whole number".formatted(argument));
    }
    return Integer.parseInt(value);
  }

  private static List<String> peers(String list) {
    List<String> peers = list.equals("none") ? List.of() : List.of(list.split(","));
    for (String peer : peers) {
      if (!PEERS.contains(peer)) {
        throw new IllegalArgumentException(
            "'%s' is no peer: choose from %s, or none".formatted(peer, String.join(", ", PEERS)));
      }
    }
    return peers;
  }

  private static String known(String work, List<String> knownWorks) {
    if (!knownWorks.contains(work)) {
      throw new IllegalArgumentException(
          "'%s' is no work: choose from %s".formatted(work, String.join(", ", knownWorks)));
    }
    return work;
  }

  /** The first number in a whole run, the second in a quick one, next to nothing for smoke. */
  public int size(int whole, int quickly) {
    return switch (effort) {
      case WHOLE -> whole;
      case QUICK -> quickly;
      case SMOKE -> Math.max(1, quickly / SMOKE_SHARE);
    };
  }

  /** As the command line says, else as {@link #size(int, int)}. */
  public int size(String what, int whole, int quickly) {
    return sizes.getOrDefault(what, size(whole, quickly));
  }

  /** Rounds that do not count. */
  public int warm(int rounds) {
    return effort == Effort.SMOKE ? 0 : rounds;
  }
}
