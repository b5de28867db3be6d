package dev.zlayer.host.http;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a broken or malicious server sends is an error that says what was wrong. */
@Timeout(30)
class HostileServerTest {
  @TempDir Path directory;

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "nothing at all||before its answer was complete",
        "no HTTP|SSH-2.0-x\\r\\n|does not speak HTTP",
        "an odd status|HTTP/1.1 999 x\\r\\n\\r\\n|does not speak HTTP",
        "a status and more|HTTP/1.1 2000\\r\\n\\r\\n|does not speak HTTP",
        "a status of two digits|HTTP/1.1 20\\r\\n\\r\\n|does not speak HTTP",
        "another version|HTTP/1.2 200 OK\\r\\n\\r\\n|does not speak HTTP",
        "a header without a name|HTTP/1.1 200 OK\\r\\n: b\\r\\n\\r\\n|malformed header",
        "a blank in a name|HTTP/1.1 200 OK\\r\\nA : b\\r\\n\\r\\n|malformed header",
        "half a head|HTTP/1.1 200 OK\\r\\nContent-|before its answer was complete",
        "a folded header|HTTP/1.1 200 OK\\r\\nA: b\\r\\n c\\r\\n\\r\\n|malformed header",
        "too short a body|HTTP/1.1 200 OK\\r\\nContent-Length: 9\\r\\n\\r\\nhalf|after 4 of 9",
        "two lengths|HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\nContent-Length: 2\\r\\n\\r\\nab"
            + "|odd content length",
        "a negative length|HTTP/1.1 200 OK\\r\\nContent-Length: -1\\r\\n\\r\\n|odd content length",
        "a length with a sign|HTTP/1.1 200 OK\\r"
            + "\\n"
            + "Content-Length: +1\\r"
            + "\\n"
            + "\\r"
            + "\\n"
            + "|odd content length",
        "no length|HTTP/1.1 200 OK\\r\\nContent-Length:\\r\\n\\r\\n|odd content length",
        "a huge length|HTTP/1.1 200 OK\\r\\nContent-Length: 99999999999999999999\\r\\n\\r\\n"
            + "|odd content length",
        "an unknown encoding|HTTP/1.1 200 OK\\r\\nTransfer-Encoding: gzip, chunked\\r\\n\\r\\n"
            + "|unknown transfer encoding",
        "a chunk size of no digits|HTTP/1.1 200 OK\\r"
            + "\\n"
            + "Transfer-Encoding: chunked\\r"
            + "\\n"
            + "\\r"
            + "\\n"
            + "xyz\\r"
            + "\\n"
            + "|malformed chunk size",
        "a chunk size past any number|HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
            + "ffffffffffffffff\\r\\n|malformed chunk size",
        "a chunk that goes on|HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
            + "2\\r\\nabcd\\r\\n0\\r\\n\\r\\n|headers are too long",
        "a chunk cut off|HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n5\\r\\nab"
            + "|inside a chunk",
        "no last chunk|HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n2\\r\\nab\\r\\n"
            + "|before its answer was complete",
        "a protocol nobody asked for|HTTP/1.1 101 Switching\\r\\n\\r\\n|unasked",
      })
  void isANetworkError(String name, String answer, String reason) throws Exception {
    refuses(answer == null ? "" : answer.replace("\\r\\n", "\r\n"), reason);
  }

  @org.junit.jupiter.api.Test
  void headersHaveLimits() throws Exception {
    refuses("HTTP/1.1 200 OK\r\nA: " + "x".repeat(70_000) + "\r\n\r\n", "too long");
  }

  @org.junit.jupiter.api.Test
  void theNumberOfHeadersHasALimit() throws Exception {
    refuses("HTTP/1.1 200 OK\r\n" + "A: b\r\n".repeat(300) + "\r\n", "more than 200 headers");
  }

  @org.junit.jupiter.api.Test
  void aLongerBodyThanTheCallerTakesIsRefused() throws Exception {
    refuses("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + "x".repeat(101), "longer than 100");
  }

  private void refuses(String answer, String reason) throws Exception {
    try (var server = ScriptedServer.saying(directory, answer);
        var client = HttpClient.open(server.address())) {
      assertThatThrownBy(
              () ->
                  client
                      .send(HttpRequest.get("/"), Deadline.after(Duration.ofSeconds(10)))
                      .text(100))
          .isInstanceOf(AgentException.Network.class)
          .hasMessageContaining(reason);
    }
  }
}
