package dev.zlayer.image.registry;

import dev.zlayer.oci.ImageRef;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Asks one place after the other until one has it: mirrors first, the registry itself last. */
final class Fallback {
  /** What is asked of each place. */
  @FunctionalInterface
  interface Question<T> {
    T ask(RegistryEndpoint endpoint) throws IOException, InterruptedException;
  }

  private final ImageRef image;
  private final List<RegistryEndpoint> endpoints;
  private final LoopbackTls loopback;
  private final Consumer<String> notices;

  Fallback(
      ImageRef image,
      List<RegistryEndpoint> endpoints,
      LoopbackTls loopback,
      Consumer<String> notices) {
    this.image = image;
    this.endpoints = List.copyOf(endpoints);
    this.loopback = loopback;
    this.notices = notices;
  }

  /** Throws what the last place had to say; what the others said is attached. */
  <T> T first(Question<T> question) throws IOException, InterruptedException {
    @Nullable RegistryException failure = null;
    for (RegistryEndpoint endpoint : endpoints) {
      if (failure != null) {
        notices.accept("%s; asking %s".formatted(failure.getMessage(), endpoint.name()));
      }
      try {
        return loopback.ask(endpoint, question);
      } catch (RegistryException e) {
        if (failure != null) {
          e.addSuppressed(failure);
        }
        failure = e;
      }
    }
    throw failure != null
        ? failure
        : new RegistryException(
            RegistryException.Problem.OFFLINE,
            "registry %s is set to offline and has no mirrors".formatted(image.host()));
  }
}
