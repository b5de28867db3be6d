package dev.zlayer.cli.client;

import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.json.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** A stream of JSON objects, one per line, as they come. */
public final class JsonLines implements AutoCloseable {
  private final HttpResponse response;
  private final BufferedReader reader;

  JsonLines(HttpResponse response) {
    this.response = response;
    this.reader =
        new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8));
  }

  /**
   * Blocks for the next object; nothing at the end.
   *
   * @throws DaemonProblem the daemon failed on the way
   * @throws DaemonLost the connection broke
   */
  public Optional<Json> next() throws InterruptedException {
    try {
      String line = reader.readLine();
      while (line != null && line.isBlank()) {
        line = reader.readLine();
      }
      if (line == null) {
        return Optional.empty();
      }
      Json json = AnswerJson.parse(line);
      if (json.at("type").string().filter("error"::equals).isPresent()) {
        throw new DaemonProblem(json);
      }
      return Optional.of(json);
    } catch (IOException e) {
      if (Thread.interrupted()) {
        throw new InterruptedException("reading was interrupted");
      }
      throw new ConnectionLost("connection to the daemon lost: " + e.getMessage(), e);
    }
  }

  /** Ends the stream, also for a thread that waits in {@link #next}. */
  @Override
  public void close() {
    response.close();
  }
}
