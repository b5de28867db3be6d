package dev.zlayer.daemon.cluster;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpResponse;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** An answer of another node, line by line. Another thread may close it. */
public final class PeerLines implements AutoCloseable {
  /** Far more than any event or reading has; memory has to do for what a node sends. */
  static final int LONGEST = 4 << 20;

  private final HttpClient client;
  private final HttpResponse response;
  private final BufferedReader reader;

  PeerLines(HttpClient client, HttpResponse response) {
    this.client = client;
    this.response = response;
    this.reader =
        new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8));
  }

  /**
   * The next line; empty at the end.
   *
   * @throws AgentException.Network the connection broke
   */
  public Optional<String> next() throws InterruptedException {
    try {
      return line();
    } catch (IOException e) {
      if (Thread.interrupted()) {
        throw new InterruptedException("reading from a node was interrupted");
      }
      throw new AgentException.Network("the connection broke: " + e.getMessage(), e);
    }
  }

  private Optional<String> line() throws IOException {
    var line = new StringBuilder();
    for (int next = reader.read(); next >= 0; next = reader.read()) {
      if (next == '\n') {
        int end = line.length() - 1;
        if (end >= 0 && line.charAt(end) == '\r') {
          line.setLength(end);
        }
        return Optional.of(line.toString());
      }
      if (line.length() >= LONGEST) {
        throw new IOException("a line is longer than %d characters".formatted(LONGEST));
      }
      line.append((char) next);
    }
    return line.isEmpty() ? Optional.empty() : Optional.of(line.toString());
  }

  @Override
  public void close() {
    response.close();
    client.close();
  }
}
