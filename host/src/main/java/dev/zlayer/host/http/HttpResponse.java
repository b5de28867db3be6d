package dev.zlayer.host.http;

import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/**
 * What a server answered. The body is read as it comes; a body read to its end gives its connection
 * back, closing earlier ends the connection. Reading throws {@link IOException} when the peer
 * breaks off, the deadline passes or the reader is interrupted.
 */
public record HttpResponse(int status, HttpHeaders headers, InputStream body)
    implements AutoCloseable {
  public boolean success() {
    return status >= 200 && status < 300;
  }

  /** The whole body as text, and the response closed; more than {@code maxBytes} is an error. */
  public String text(int maxBytes) throws InterruptedException {
    return new String(bytes(maxBytes), StandardCharsets.UTF_8);
  }

  /** The whole body, and the response closed; more than {@code maxBytes} is an error. */
  public byte[] bytes(int maxBytes) throws InterruptedException {
    try (this) {
      byte[] bytes = body.readNBytes(maxBytes);
      if (bytes.length == maxBytes && body.read() >= 0) {
        throw new AgentException.Network("the answer is longer than " + maxBytes + " bytes");
      }
      return bytes;
    } catch (IOException e) {
      throw HttpFailure.translate("reading an answer", e);
    }
  }

  /** Ends the exchange; never fails. */
  @Override
  public void close() {
    try {
      body.close();
    } catch (IOException _) {
      // what is not needed any more may break
    }
  }
}
