package dev.zlayer.daemon.http;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** Writes lines or events whole, one at a time. */
final class StreamWriter implements ApiResponse.Lined, ApiResponse.Eventful {
  private static final int BUFFER = 16 << 10;

  private final OutputStream out;

  StreamWriter(OutputStream out) {
    this.out = new BufferedOutputStream(out, BUFFER);
  }

  @Override
  public synchronized void flush() throws IOException {
    out.flush();
  }

  @Override
  public synchronized void add(Json json) throws IOException {
    out.write((JsonText.print(json) + "\n").getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public synchronized void line(Json json) throws IOException {
    add(json);
    out.flush();
  }

  @Override
  public synchronized void event(String id, String kind, Json data) throws IOException {
    write("id: %s\nevent: %s\ndata: %s\n\n".formatted(id, kind, JsonText.print(data)));
  }

  @Override
  public synchronized void heartbeat() throws IOException {
    write(": still here\n\n");
  }

  private void write(String text) throws IOException {
    out.write(text.getBytes(StandardCharsets.UTF_8));
    out.flush();
  }
}
