package dev.zlayer.runtime.docker;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.Consumer;

/** Objects, one per line, as the engine reports on work under way. */
final class JsonStream {
  private static final int MAX_LINE = 1 << 20;

  private JsonStream() {}

  /** Blocks until the last one, then closes the response. */
  static void each(HttpResponse response, String doing, Consumer<Json> receiver)
      throws InterruptedException {
    try (response;
        var in = new BufferedInputStream(response.body())) {
      for (byte[] line = line(in); line.length > 0; line = line(in)) {
        if (line.length > 1) {
          receiver.accept(JsonText.parse(line));
        }
      }
    } catch (IOException e) {
      if (Thread.interrupted()) {
        throw new InterruptedException(doing + " was interrupted");
      }
      throw new AgentException.Network(doing + ": " + e.getMessage(), e);
    }
  }

  /** With its end; empty at the end of all. */
  private static byte[] line(InputStream in) throws IOException {
    var line = new ByteArrayOutputStream();
    int b;
    do {
      b = in.read();
      if (b >= 0 && b != '\r') {
        line.write(b);
      }
      if (line.size() > MAX_LINE) {
        throw new IOException("the engine sent a line over " + MAX_LINE + " bytes");
      }
    } while (b >= 0 && b != '\n');
    return line.toByteArray();
  }
}
