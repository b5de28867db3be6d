package dev.zlayer.cluster.member;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Collection;
import javax.net.ssl.SSLContext;

/**
 * Asks other nodes whether this one was removed: etcd does not even talk to one that was, so it
 * cannot read that itself.
 */
final class RemovalCheck {
  private static final String PATH = "/api/v1/version";
  private static final int FORBIDDEN = 403;
  private static final Duration LIMIT = Duration.ofSeconds(2);

  private RemovalCheck() {}

  /** Whether one of them says so; one that only does not know this node says something else. */
  static boolean removed(Collection<String> addresses, SSLContext tls) throws InterruptedException {
    try (HttpClient http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .proxy(HttpClient.Builder.NO_PROXY)
            .connectTimeout(LIMIT)
            .sslContext(tls)
            .build()) {
      for (String address : addresses) {
        if (removed(http, address, Deadline.after(LIMIT))) {
          return true;
        }
      }
      return false;
    }
  }

  private static boolean removed(HttpClient http, String address, Deadline deadline)
      throws InterruptedException {
    try {
      return http.send(
                  HttpRequest.newBuilder(
                          NodeIdentity.url(address, NodeIdentity.AGENT_PORT).resolve(PATH))
                      .timeout(deadline.left())
                      .GET()
                      .build(),
                  HttpResponse.BodyHandlers.discarding())
              .statusCode()
          == FORBIDDEN;
    } catch (IOException | AgentException _) {
      return false; // this one does not answer
    }
  }
}
