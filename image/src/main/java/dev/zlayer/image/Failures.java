package dev.zlayer.image;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.registry.RegistryException;
import dev.zlayer.image.store.DiskSpace;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Turns what went wrong below into what a caller of {@link LocalImages} can act on. */
final class Failures {
  private Failures() {}

  /** Something that may fail in any way. */
  @FunctionalInterface
  interface Work<T> {
    T run() throws IOException, InterruptedException;
  }

  /** Runs a pull; whatever it throws names the image and says who has to act. */
  static <T> T pulling(String image, Path store, Work<T> work) throws InterruptedException {
    try {
      return work.run();
    } catch (IOException e) {
      throw translate(image, store, e);
    } catch (TaskScope.TaskFailed e) {
      throw translate(image, store, unwrapped(e));
    }
  }

  /** Runs a push; a registry that does not take the image is outside of this node. */
  static <T> T pushing(String image, Path store, Work<T> work) throws InterruptedException {
    Throwable failure;
    try {
      return work.run();
    } catch (IOException e) {
      failure = e;
    } catch (TaskScope.TaskFailed e) {
      failure = unwrapped(e);
    }
    if (failure instanceof AgentException own) {
      throw own;
    }
    if (failure instanceof InterruptedException || Thread.interrupted()) {
      throw new InterruptedException("interrupted while pushing " + image);
    }
    String text = "cannot push image '%s': ".formatted(image);
    throw failure instanceof RegistryException
        ? new AgentException.Network(text + failure.getMessage(), failure)
        : new AgentException.Configuration(
            text + text(failure instanceof IOException e ? explained(e, store) : failure), failure);
  }

  /** Credentials that are not accepted are the caller's to mend. */
  static void login(String host, Work<?> work) throws InterruptedException {
    try {
      work.run();
    } catch (IOException e) {
      String text = "cannot log in to %s: %s".formatted(host, e.getMessage());
      throw e instanceof RegistryException known
              && known.problem() == RegistryException.Problem.DENIED
          ? new AgentException.InvalidSpec(text, e)
          : new AgentException.Network(text, e);
    }
  }

  /** The text of a failure for an answer that is not an exception. */
  static String text(Throwable thrown) {
    return String.valueOf(thrown.getMessage());
  }

  static Throwable unwrapped(Throwable thrown) {
    @Nullable Throwable cause = thrown.getCause();
    return thrown instanceof TaskScope.TaskFailed && cause != null ? unwrapped(cause) : thrown;
  }

  private static AgentException translate(String image, Path store, Throwable thrown)
      throws InterruptedException {
    if (thrown instanceof AgentException own) {
      return own;
    }
    if (thrown instanceof InterruptedException || Thread.interrupted()) {
      throw new InterruptedException("interrupted while pulling " + image);
    }
    if (thrown instanceof RegistryException e) {
      return switch (e.problem()) {
        case UNREACHABLE, TLS, OFFLINE ->
            new AgentException.Network(
                "cannot pull image '%s': %s".formatted(image, e.getMessage()), e);
        case ABSENT, DENIED, BUSY, BROKEN, UNSOUND ->
            new AgentException.PullFailed(image, text(e), e);
      };
    }
    Throwable told = thrown instanceof IOException e ? explained(e, store) : thrown;
    return new AgentException.PullFailed(image, text(told), told);
  }

  static IOException explained(IOException e, Path store) {
    for (@Nullable Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof IOException inner) {
        IOException told = DiskSpace.explain(inner, store);
        if (!told.equals(inner)) {
          return told;
        }
      }
    }
    return e;
  }

  /** Runs something that only concerns the store; its failure is this node's. */
  static <T> T local(String doing, Path store, StoreWork<T> work) {
    try {
      return work.run();
    } catch (IOException e) {
      IOException told = explained(e, store);
      throw new AgentException.Configuration(
          "could not %s: %s".formatted(doing, told.getMessage()), told);
    }
  }

  /** Work on the store that waits for nobody. */
  @FunctionalInterface
  interface StoreWork<T> {
    T run() throws IOException;
  }
}
