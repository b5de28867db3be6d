package dev.zlayer.daemon.rest.view;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.LogSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.Resources;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.container.StopSpec;
import dev.zlayer.engine.health.HealthState;
import dev.zlayer.engine.health.HealthStatus;
import dev.zlayer.oci.Platform;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** All there is to know about a container. */
public record InspectView(
    ContainerView container,
    Optional<Platform> platform,
    ProcessView process,
    FileSystemSpec fileSystem,
    NetworkSpec network,
    Resources resources,
    SecuritySpec security,
    Optional<GpuRequest> gpu,
    LogSpec logs,
    StopSpec stop,
    Optional<HealthView> healthCheck,
    Optional<Path> rootFileSystem) {
  /**
   * The checks of a single container while it runs.
   *
   * @param failures in a row that count
   * @param output of the last check
   * @param since when its state changed
   */
  public record HealthView(
      HealthState state,
      int failures,
      String output,
      Instant since,
      Instant next,
      List<HealthStatus.Run> history) {
    static HealthView of(HealthStatus status) {
      return new HealthView(
          status.state(),
          status.failures(),
          status.output(),
          status.since(),
          status.next(),
          status.history());
    }
  }

  /**
   * What runs inside.
   *
   * @param env names only: values may be secrets
   */
  public record ProcessView(
      Optional<List<String>> entrypoint,
      Optional<List<String>> args,
      List<String> env,
      Optional<String> workdir,
      Optional<String> user,
      List<String> extraGroups,
      boolean terminal,
      boolean stdin,
      boolean init) {
    static ProcessView of(ProcessSpec process) {
      return new ProcessView(
          process.entrypoint(),
          process.args(),
          List.copyOf(process.env().keySet()),
          process.workdir(),
          process.user(),
          process.extraGroups(),
          process.terminal(),
          process.stdin(),
          process.init());
    }
  }

  public static InspectView of(
      ContainerDetails details,
      Optional<ContainerView.Replica> replica,
      Optional<HealthStatus> health) {
    ContainerSpec spec = details.spec();
    return new InspectView(
        ContainerView.of(details, replica),
        spec.platform(),
        ProcessView.of(spec.process()),
        spec.fileSystem(),
        spec.network(),
        spec.resources(),
        spec.security(),
        spec.gpu(),
        spec.logs(),
        spec.stop(),
        health.map(HealthView::of),
        details.rootFileSystem());
  }
}
