package dev.zlayer.spec.check;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.check.SupportCheck.Refusals;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.storage.StorageSpec;
import dev.zlayer.spec.value.NetworkMode;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Jobs whose containers cannot be created before the execution is known; part of {@link
 * SupportCheck}.
 */
public final class WarmSupport {
  private static final String OF_CONTAINER = "container:";

  private WarmSupport() {}

  static void find(ServiceSpec service, SpecPath path, Refusals refusals) {
    if (service.job().ahead() > 0) {
      SpecPath warm = path.key("job").key("warm");
      obstacle(service).ifPresent(reason -> refusals.add(warm, reason));
    }
  }

  /** Why that is so for a job; empty when its containers can be created ahead. */
  public static Optional<String> obstacle(ServiceSpec service) {
    if (!service.lifecycle().init().steps().isEmpty()) {
      return Optional.of("init steps run before the container of each execution is created");
    }
    if (service.storage().stream().anyMatch(StorageSpec.S3.class::isInstance)) {
      return Optional.of("copies of buckets are made for each execution");
    }
    if (service.resources().gpu().isPresent()) {
      return Optional.of("a GPU would be held by containers that run nothing");
    }
    if (service.wasm().isPresent() || service.serviceType().wasm()) {
      return Optional.of("a WebAssembly module has no process to create ahead");
    }
    boolean joins =
        service.networking().effectiveMode() instanceof NetworkMode.OfContainer
            || Stream.of(service.security().pidMode(), service.security().ipcMode())
                .flatMap(Optional::stream)
                .anyMatch(mode -> mode.startsWith(OF_CONTAINER));
    return joins
        ? Optional.of("the container whose namespaces it shares may restart before it is used")
        : Optional.empty();
  }
}
