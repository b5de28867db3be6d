package dev.zlayer.host.probe;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.oci.Platform;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Looks at the host and tells the {@link HostFacts}. */
public final class HostProbe {
  /** Where Debian and the plugins' own releases put the network plugins. */
  public static final List<Path> CNI_DIRECTORIES =
      List.of(Path.of("/usr/lib/cni"), Path.of("/opt/cni/bin"));

  private static final Duration VERSION_LIMIT = Duration.ofSeconds(5);
  private static final Pattern VERSION = Pattern.compile("\\d+(?:\\.\\d+)+[A-Za-z0-9.+~-]*");

  /** A program to look for; {@code versionOption} is empty when it cannot tell its version. */
  private record Wanted(
      String name, String purpose, String debianPackage, String versionOption, boolean plugin) {
    static Wanted program(String name, String purpose, String debianPackage) {
      return new Wanted(name, purpose, debianPackage, "--version", false);
    }

    static Wanted plugin(String name, String purpose) {
      return new Wanted(name, purpose, "containernetworking-plugins", "", true);
    }
  }

  private static final List<Wanted> WANTED =
      List.of(
          Wanted.program("crun", "run containers (fastest)", "crun"),
          Wanted.program("youki", "run containers", ""),
          Wanted.program("runc", "run containers", "runc"),
          Wanted.program("conmon", "keep output and exit codes of containers", "conmon"),
          Wanted.plugin("bridge", "connect containers to a bridge"),
          Wanted.plugin("host-local", "give containers addresses"),
          Wanted.program("nft", "publish ports, keep networks apart", "nftables"),
          Wanted.program("conntrack", "flush connections of removed replicas", "conntrack"),
          Wanted.program("apparmor_parser", "confine containers by AppArmor", "apparmor"),
          Wanted.program("catatonit", "be the init process of containers", "catatonit"),
          Wanted.program("tini", "be the init process of containers", "tini"),
          Wanted.program("docker-registry", "serve as a local registry", "docker-registry"));

  private final List<Path> programDirectories;
  private final List<Path> pluginDirectories;

  /**
   * Looks for programs in the given directories.
   *
   * @param searchPath as in the environment variable {@code PATH}
   */
  public HostProbe(String searchPath, List<Path> pluginDirectories) {
    this.programDirectories = directories(searchPath);
    this.pluginDirectories = List.copyOf(pluginDirectories);
  }

  public HostFacts probe() throws InterruptedException {
    try (var scope = new TaskScope("probe")) {
      List<TaskScope.Task<HostPart>> parts = new ArrayList<>();
      for (Wanted wanted : WANTED) {
        parts.add(scope.fork(() -> withVersion(wanted)));
      }
      scope.join();
      return facts(parts.stream().map(TaskScope.Task::result).toList());
    }
  }

  /** The same without the versions of programs, so that none of them has to be started. */
  public HostFacts probeFiles() {
    return facts(WANTED.stream().map(wanted -> part(wanted, Optional.empty())).toList());
  }

  private static HostFacts facts(List<HostPart> parts) {
    return new HostFacts(
        Machine.kernel(),
        Platform.of("linux", Machine.architecture()),
        Machine.cgroupMode(),
        Machine.root(),
        Machine.knowsFileSystem("overlay"),
        Machine.memoryBytes(),
        Runtime.getRuntime().availableProcessors(),
        parts);
  }

  /** The first executable of that name on the search path. */
  public Optional<Path> find(String program) {
    return find(program, programDirectories);
  }

  private HostPart withVersion(Wanted wanted) throws InterruptedException {
    HostPart part = part(wanted, Optional.empty());
    return part.path().isEmpty() || wanted.versionOption().isEmpty()
        ? part
        : part(wanted, version(part.path().get(), wanted.versionOption()));
  }

  private HostPart part(Wanted wanted, Optional<String> version) {
    Optional<Path> path =
        find(wanted.name(), wanted.plugin() ? pluginDirectories : programDirectories);
    return new HostPart(wanted.name(), wanted.purpose(), path, version, wanted.debianPackage());
  }

  /** Present but silent, slow or broken: its version stays unknown. */
  private static Optional<String> version(Path program, String option) throws InterruptedException {
    try {
      CommandResult result =
          Processes.run(Command.of(program.toString(), option), Deadline.after(VERSION_LIMIT));
      return version(result.stdout() + "\n" + result.stderr());
    } catch (AgentException _) {
      return Optional.empty();
    }
  }

  static Optional<String> version(String printed) {
    Matcher matcher = VERSION.matcher(printed);
    return matcher.find() ? Optional.of(matcher.group()) : Optional.empty();
  }

  private static Optional<Path> find(String program, List<Path> directories) {
    return directories.stream()
        .map(directory -> directory.resolve(program))
        .filter(file -> Files.isRegularFile(file) && Files.isExecutable(file))
        .findFirst();
  }

  private static List<Path> directories(String searchPath) {
    return Pattern.compile(File.pathSeparator, Pattern.LITERAL)
        .splitAsStream(searchPath)
        .filter(part -> !part.isEmpty())
        .map(Path::of)
        .toList();
  }
}
