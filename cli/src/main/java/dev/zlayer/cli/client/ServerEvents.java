package dev.zlayer.cli.client;

import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.json.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** A stream of server-sent events whose data are JSON objects. */
public final class ServerEvents implements AutoCloseable {
  private final HttpResponse response;
  private final BufferedReader reader;
  private Optional<String> id = Optional.empty();

  ServerEvents(HttpResponse response) {
    this.response = response;
    this.reader =
        new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8));
  }

  /** Blocks for the next event; comments that keep the line alive are passed over. */
  public Optional<Json> next() throws InterruptedException {
    try {
      var data = new StringBuilder();
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        if (line.startsWith("id:")) {
          id = Optional.of(line.substring("id:".length()).strip());
        } else if (line.startsWith("data:")) {
          data.append(line.substring("data:".length()).strip());
        } else if (line.isEmpty() && !data.isEmpty()) {
          return Optional.of(AnswerJson.parse(data.toString()));
        }
      }
      return Optional.empty();
    } catch (IOException e) {
      if (Thread.interrupted()) {
        throw new InterruptedException("reading was interrupted");
      }
      throw new ConnectionLost("connection to the daemon lost: " + e.getMessage(), e);
    }
  }

  /** What to give as {@code since} to continue after the last event. */
  public Optional<String> id() {
    return id;
  }

  @Override
  public void close() {
    response.close();
  }
}
