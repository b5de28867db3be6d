package dev.zlayer.daemon.http;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import org.eclipse.jetty.websocket.api.Session;

/** What is sent back. */
public sealed interface ApiResponse {
  /** A whole body. */
  @SuppressWarnings("ArrayRecordComponent") // a body is bytes, never compared
  record Whole(int status, String type, byte[] body, Map<String, String> headers)
      implements ApiResponse {}

  /** Made while the caller waits; its leaving interrupts the maker. */
  record Later(Maker maker) implements ApiResponse {}

  /**
   * Bytes as they come; the caller's leaving interrupts the writer.
   *
   * @param done what was asked for is done when the answer begins, and noted then: what follows may
   *     take days
   */
  record Bytes(String type, Map<String, String> headers, boolean done, BytesWriter writer)
      implements ApiResponse {
    public Bytes(String type, Map<String, String> headers, BytesWriter writer) {
      this(type, headers, false, writer);
    }
  }

  /** Objects as they come, one per line, each flushed; a failure becomes the last line. */
  record Lines(String type, LinesWriter writer) implements ApiResponse {
    public Lines(LinesWriter writer) {
      this(ApiRequest.LINES, writer);
    }
  }

  /** Server-sent events. */
  record Events(EventsWriter writer) implements ApiResponse {}

  /** The connection becomes a WebSocket. */
  record Socket(Session.Listener endpoint) implements ApiResponse {}

  /**
   * The connection becomes a stream of bytes in both directions; with {@code Upgrade} in the
   * request the status is 101, else 200.
   *
   * @param head the headers of another node that has changed the protocol, and speaks through us
   */
  record Hijack(String type, Conversation conversation, Optional<Map<String, String>> head)
      implements ApiResponse {
    public Hijack(String type, Conversation conversation) {
      this(type, conversation, Optional.empty());
    }
  }

  /** Speaks on a connection that was taken over; it is closed when this returns. */
  @FunctionalInterface
  interface Conversation {
    void run(InputStream in, OutputStream out) throws IOException, InterruptedException;

    /** Instead of {@link #run} when the caller was gone before it began. */
    default void abandon() {}

    /**
     * Whether it is interrupted when the caller disconnects, also while there is nothing to say.
     */
    default boolean endsWithClient() {
      return false;
    }
  }

  /** Makes an answer, which may take long. */
  @FunctionalInterface
  interface Maker {
    ApiResponse make() throws InterruptedException;
  }

  /** Writes a stream of bytes. */
  @FunctionalInterface
  interface BytesWriter {
    void write(OutputStream out) throws IOException, InterruptedException;

    /** Instead of {@link #write} when the caller was gone before it began. */
    default void abandon() {}

    /** What is open already is closed in either case. */
    static BytesWriter closing(Closeable open, BytesWriter writer) {
      return new BytesWriter() {
        @Override
        public void write(OutputStream out) throws IOException, InterruptedException {
          try (open) {
            writer.write(out);
          }
        }

        @Override
        public void abandon() {
          try {
            open.close();
          } catch (IOException _) {
            // nobody reads it
          }
        }
      };
    }
  }

  /** Writes objects. */
  @FunctionalInterface
  interface LinesWriter {
    void write(Lined out) throws IOException, InterruptedException;
  }

  /** Writes events. */
  @FunctionalInterface
  interface EventsWriter {
    void write(Eventful out) throws IOException, InterruptedException;
  }

  /** Where lines go. */
  interface Lined {
    /** Sends what there is; at first, that all is well, since a line may take its time. */
    void flush() throws IOException;

    /** Writes one object, to be sent with the next flush or at the end. */
    void add(Json json) throws IOException;

    /** Writes one object and flushes; safe from several threads. */
    void line(Json json) throws IOException;
  }

  /** Where server-sent events go. */
  interface Eventful {
    void event(String id, String kind, Json data) throws IOException;

    default void event(long id, String kind, Json data) throws IOException {
      event(Long.toString(id), kind, data);
    }

    /** Tells the reader, and the connection's keepers, that we are still here. */
    void heartbeat() throws IOException;
  }

  static ApiResponse json(Json json) {
    return json(200, json);
  }

  static ApiResponse json(int status, Json json) {
    return new Whole(status, ApiRequest.JSON, JsonText.bytes(json), Map.of());
  }

  static ApiResponse text(String type, String text) {
    return new Whole(200, type, text.getBytes(StandardCharsets.UTF_8), Map.of());
  }

  /** Done, and nothing to say. */
  static ApiResponse done() {
    return new Whole(204, "", new byte[0], Map.of());
  }
}
