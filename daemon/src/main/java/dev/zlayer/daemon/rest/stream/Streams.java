package dev.zlayer.daemon.rest.stream;

import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Attachable;
import dev.zlayer.port.Container;
import dev.zlayer.port.LogReader;
import java.util.function.Function;

/** Opens conversations. */
public final class Streams {
  private Streams() {}

  /** Talks to a further process; leaving ends it. */
  public static ApiResponse exec(ApiRequest call, Container container, ExecSpec spec) {
    return new ApiResponse.Socket(
        new WebSocketStream(() -> new ExecConversation(container.exec(spec)), call.id()));
  }

  /**
   * Talks to the container's own process; leaving leaves it running.
   *
   * @param before is done first: starting it, for one
   * @param output opens what the container printed
   */
  public static ApiResponse attach(
      ApiRequest call,
      Container container,
      Before before,
      boolean logs,
      Function<LogQuery, LogReader> output) {
    if (!(container instanceof Attachable attachable)) {
      throw new AgentException.Unsupported(
          "containers of runtime '%s' cannot be attached to"
              .formatted(container.inspect().runtime()));
    }
    return new ApiResponse.Socket(
        new WebSocketStream(
            () -> {
              before.run();
              return new AttachConversation(container, attachable.attach(), logs, output);
            },
            call.id()));
  }

  /** Something to do before. */
  @FunctionalInterface
  public interface Before {
    void run() throws InterruptedException;
  }
}
