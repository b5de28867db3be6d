package dev.zlayer.daemon.http;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** Writes lines or events whole, one at a time, each flushed. */
final class Outlet implements Answer.Lined, Answer.Eventful {
  private final OutputStream out;

  Outlet(OutputStream out) {
    this.out = out;
  }

  @Override
  public synchronized void begin() throws IOException {
    out.flush();
  }

  @Override
  public synchronized void line(Json json) throws IOException {
    write(JsonText.print(json) + "\n");
  }

  @Override
  public synchronized void event(long id, String kind, Json data) throws IOException {
    write("id: %d\nevent: %s\ndata: %s\n\n".formatted(id, kind, JsonText.print(data)));
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
