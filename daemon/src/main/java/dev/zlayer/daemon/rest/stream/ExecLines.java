package dev.zlayer.daemon.rest.stream;

import dev.zlayer.container.ExecSpec;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.json.Json;
import dev.zlayer.port.Container;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Optional;

/** A process inside a container whose output is sent as lines, and its exit code as the last. */
public final class ExecLines {
  private static final int BUFFER = 8192;

  private ExecLines() {}

  /** The caller's leaving ends the process. */
  public static ApiResponse run(Container container, ExecSpec spec) throws InterruptedException {
    ExecSession session = container.exec(spec);
    return new ApiResponse.Lines(
        out -> {
          try (var scope = new TaskScope("exec");
              session) {
            out.flush();
            scope.fork(() -> copy(session.stdout(), "stdout", out));
            scope.fork(() -> copy(session.stderr(), "stderr", out));
            scope.join();
            var exit = session.await(Deadline.none());
            out.line(
                Json.object()
                    .put("type", "exit")
                    .putIf("code", code(exit))
                    .put("reason", exit.text())
                    .build());
          }
        });
  }

  private static Optional<Integer> code(dev.zlayer.container.ExitStatus exit) {
    return exit.exitCode().isPresent() ? Optional.of(exit.exitCode().getAsInt()) : Optional.empty();
  }

  private static boolean copy(InputStream in, String stream, ApiResponse.Lined out)
      throws IOException {
    var chunks = new TextChunks();
    var buffer = new byte[BUFFER];
    for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
      send(chunks.next(buffer, count), stream, out);
    }
    send(chunks.last(), stream, out);
    return true;
  }

  private static void send(byte[] bytes, String stream, ApiResponse.Lined out) throws IOException {
    if (bytes.length > 0) {
      out.line(output(stream, bytes).build());
    }
  }

  /** Text if it is some, else bytes. */
  public static Json.Builder output(String stream, byte[] bytes) {
    var json = Json.object().put("stream", stream);
    try {
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      return json.put("text", text);
    } catch (CharacterCodingException _) {
      return json.put("bytes", Base64.getEncoder().encodeToString(bytes));
    }
  }
}
