package dev.zlayer.host.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class UpgradeTest {
  private static final HttpRequest REQUEST = HttpRequest.of("POST", "/x").with("Upgrade", "tcp");

  @TempDir Path directory;

  @Test
  void theConnectionBecomesRawBothWaysAndHalfCloses() throws Exception {
    try (var server =
            new ScriptedServer(
                directory,
                peer -> {
                  assertThat(peer.head()).contains("Upgrade: tcp", "Connection: Upgrade");
                  // the first raw bytes travel in the same packet as the head
                  peer.say("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\n\r\nfirst ");
                  byte[] all = peer.in().readAllBytes();
                  peer.say("then " + new String(all, StandardCharsets.UTF_8));
                });
        var client = HttpClient.open(server.address())) {
      var accepted = (Upgraded.Accepted) client.upgrade(REQUEST, soon());
      try (var connection = accepted.connection()) {
        connection.output().write("mine".getBytes(StandardCharsets.UTF_8));
        connection.closeOutput();
        assertThat(new String(connection.input().readAllBytes(), StandardCharsets.UTF_8))
            .isEqualTo("first then mine");
      }
    }
  }

  @Test
  void aRefusalIsAnOrdinaryAnswer() throws Exception {
    try (var server =
            ScriptedServer.saying(
                directory, "HTTP/1.1 409 Conflict\r\nContent-Length: 4\r\n\r\nbusy");
        var client = HttpClient.open(server.address())) {
      var refused = (Upgraded.Refused) client.upgrade(REQUEST, soon());
      assertThat(refused.response().status()).isEqualTo(409);
      assertThat(refused.response().text(10)).isEqualTo("busy");
    }
  }

  @Test
  void theDeadlineEndsWithTheHandshake() throws Exception {
    try (var server =
            new ScriptedServer(
                directory,
                peer -> {
                  peer.head();
                  peer.say("HTTP/1.1 101 UPGRADED\r\n\r\n");
                  peer.out().write(peer.in().readNBytes(1));
                });
        var client = HttpClient.open(server.address())) {
      Deadline deadline = Deadline.after(Duration.ofMillis(500));
      var accepted = Optional.<Upgraded>empty();
      while (accepted.isEmpty()) {
        try {
          accepted = Optional.of(client.upgrade(REQUEST, deadline));
        } catch (AgentException.Timeout e) { // the machine is busy
          assertThat(deadline.limit()).as(e.toString()).isLessThan(Duration.ofSeconds(8));
          deadline = Deadline.after(deadline.limit().multipliedBy(2));
        }
      }
      try (var connection = ((Upgraded.Accepted) accepted.get()).connection()) {
        Pauses.REAL.pause(deadline.left());
        assertThat(deadline.passed()).isTrue();
        connection.output().write(7);
        assertThat(connection.input().read()).isEqualTo(7);
      }
    }
  }

  private static Deadline soon() {
    return Deadline.after(Duration.ofSeconds(10));
  }
}
