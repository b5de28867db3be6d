package dev.zlayer.runtime.oci.tool;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Machine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The programs used on this host.
 *
 * @param runtime the one that is used
 * @param tried every OCI runtime that was looked at, the fastest first, with what is wrong with it
 * @param dialect the runtime's, if we know it; a prescribed one may only look like it
 * @param apparmor what confines containers that name no profile
 */
public record OciTools(
    OciTool runtime,
    List<OciTool> tried,
    Path conmon,
    Optional<Path> init,
    Optional<Dialect> dialect,
    AppArmorProfile apparmor) {
  /** Fastest first. */
  private static final List<String> RUNTIMES = List.of("crun", "youki", "runc");

  private static final List<Path> PROGRAM_DIRECTORIES =
      List.of(
          Path.of("/usr/local/sbin"),
          Path.of("/usr/local/bin"),
          Path.of("/usr/sbin"),
          Path.of("/usr/bin"),
          Path.of("/sbin"),
          Path.of("/bin"));

  public OciTools {
    tried = List.copyOf(tried);
  }

  /**
   * What the operator prescribes; empty parts are found.
   *
   * @param runtime a path, or a name to look for
   */
  public record Choice(Optional<String> runtime, Optional<Path> conmon) {
    public static final Choice AUTOMATIC = new Choice(Optional.empty(), Optional.empty());
  }

  /**
   * Finds the programs and tries the OCI runtimes, each at most once per change of its file.
   *
   * @throws AgentException.Configuration not root, or a part is missing; names the package
   */
  public static OciTools find(Choice choice, Path cache) throws InterruptedException {
    return find(choice, cache, new Host(Machine.root(), PROGRAM_DIRECTORIES));
  }

  /** What the search depends on. */
  record Host(boolean root, List<Path> directories) {
    Optional<Path> program(String name) {
      return directories.stream()
          .map(directory -> directory.resolve(name))
          .filter(Files::isExecutable)
          .findFirst()
          .map(OciTools::real);
    }
  }

  static OciTools find(Choice choice, Path cache, Host host) throws InterruptedException {
    if (!host.root()) {
      throw new AgentException.Configuration(
          "containers need root: start the agent as root, for example with sudo");
    }
    Path conmon =
        choice
            .conmon()
            .filter(Files::isExecutable)
            .or(() -> choice.conmon().isPresent() ? Optional.empty() : host.program("conmon"))
            .orElseThrow(
                () ->
                    new AgentException.Configuration(
                        "conmon, the monitor of containers, is not installed: install the package"
                            + " conmon"));
    List<OciTool> tried = new OciProbe(cache).tryAll(candidates(choice, host));
    OciTool runtime =
        tried.stream().filter(OciTool::works).findFirst().orElseThrow(() -> noneWorks(tried));
    return new OciTools(
        runtime,
        tried,
        conmon,
        host.program("catatonit").or(() -> host.program("tini")),
        choice.runtime().isPresent() ? Optional.empty() : Dialect.of(runtime),
        AppArmorProfile.load(
            Objects.requireNonNull(cache.toAbsolutePath().getParent()),
            host.program("apparmor_parser")));
  }

  private static List<Path> candidates(Choice choice, Host host) {
    if (choice.runtime().isPresent()) {
      String wanted = choice.runtime().get();
      Optional<Path> path =
          wanted.contains("/")
              ? Optional.of(Path.of(wanted)).filter(Files::isExecutable)
              : host.program(wanted);
      return List.of(
          path.orElseThrow(
              () ->
                  new AgentException.Configuration(
                      "the OCI runtime '%s' is not installed: install it, or choose another"
                          .formatted(wanted))));
    }
    var found = new ArrayList<Path>();
    RUNTIMES.forEach(name -> host.program(name).ifPresent(found::add));
    return found;
  }

  private static Path real(Path path) {
    try {
      return path.toRealPath();
    } catch (IOException _) {
      return path;
    }
  }

  private static AgentException noneWorks(List<OciTool> tried) {
    if (tried.isEmpty()) {
      return new AgentException.Configuration(
          "there is no OCI runtime on this host: install the package runc or crun");
    }
    var reasons =
        tried.stream().map(tool -> tool.name() + ": " + tool.problem().orElse("")).toList();
    return new AgentException.Configuration(
        "no OCI runtime works on this host: " + String.join("; ", reasons));
  }
}
