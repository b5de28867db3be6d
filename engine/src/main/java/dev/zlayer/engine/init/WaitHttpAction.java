package dev.zlayer.engine.init;

import dev.zlayer.engine.health.HttpProbe;
import dev.zlayer.engine.health.Probe;
import dev.zlayer.engine.health.ProbeResult;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.spec.service.InitAction.WaitHttp;
import dev.zlayer.spec.value.ExpectedStatus;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/**
 * Waits until a GET request is answered as expected. Redirects within the same origin are followed;
 * others count as answers, since the agent asks from where it is and must not be sent elsewhere
 * with the headers of the file. A service of the same deployment is asked at the address of a
 * replica, and its redirects count as answers.
 */
final class WaitHttpAction implements PreparedAction {
  /** A peer that accepts and says nothing must not use up the whole time in one attempt. */
  private static final Duration LONGEST_ATTEMPT = Duration.ofSeconds(5);

  private static final int MAX_REDIRECTS = 5;

  private final WaitHttp wanted;
  private final Map<String, String> headers;
  private final SSLContext tls;
  private final SiblingNames siblings;
  private final Pauses pauses;

  WaitHttpAction(
      WaitHttp wanted,
      Map<String, String> headers,
      SSLContext tls,
      SiblingNames siblings,
      Pauses pauses) {
    this.wanted = wanted;
    this.headers = headers;
    this.tls = tls;
    this.siblings = siblings;
    this.pauses = pauses;
  }

  @Override
  public String perform(Deadline deadline) throws InterruptedException {
    HttpRequest request = request();
    Deadline end = deadline.atMost(wanted.timeout());
    String last = "no attempt was made";
    int attempts = 0;
    HttpClient client =
        HttpClient.newBuilder()
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(LONGEST_ATTEMPT)
            .sslContext(tls)
            .build();
    try {
      while (!end.passed()) {
        try {
          Optional<InetAddress> sibling = siblings.find(request.uri().getHost());
          if (sibling.isPresent()) {
            ProbeResult answer = ask(sibling.get(), end.atMost(LONGEST_ATTEMPT).left());
            if (answer.success()) {
              return "";
            }
            last = answer.output();
          } else {
            int status = ask(client, request, end.atMost(LONGEST_ATTEMPT));
            if (expected(status)) {
              return "";
            }
            last = "status " + status;
          }
        } catch (AgentException.Timeout _) {
          // an attempt that the end cut short tells less than the one before
          last = end.passed() && attempts > 0 ? last : "no answer in time";
        } catch (TaskFailure e) {
          last = e.getMessage();
        } catch (IOException e) {
          last = String.valueOf(e.getMessage());
        }
        attempts++;
        pauses.pause(end.atMost(wanted.interval()).left());
      }
    } finally {
      client.shutdownNow();
    }
    throw new ActionFailed(
        "%s did not answer with %s within %s: %s"
            .formatted(
                wanted.url(),
                wanted.expectStatus().map(status -> "status " + status).orElse("a 2xx status"),
                Durations.print(wanted.timeout()),
                last),
        "");
  }

  private ProbeResult ask(InetAddress sibling, Duration limit) {
    ExpectedStatus expect =
        wanted
            .expectStatus()
            .map(status -> new ExpectedStatus(status, status))
            .orElseGet(() -> ExpectedStatus.parse("2xx"));
    return new HttpProbe().check(new Probe.Http(wanted.url(), expect, headers), sibling, limit);
  }

  private HttpRequest request() {
    try {
      HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(wanted.url())).GET();
      headers.forEach(request::header);
      return request.build();
    } catch (IllegalArgumentException e) {
      throw new AgentException.InvalidSpec(
          "%s cannot be asked: %s".formatted(wanted.url(), e.getMessage()), e);
    }
  }

  private boolean expected(int status) {
    return wanted.expectStatus().map(expect -> expect == status).orElse(status / 100 == 2);
  }

  /** Where an answer sends us, if that is the same scheme, host and port. */
  private static Optional<URI> redirect(URI from, HttpResponse<?> answer) {
    if (answer.statusCode() / 100 != 3 || answer.statusCode() == 304) {
      return Optional.empty();
    }
    try {
      return answer
          .headers()
          .firstValue("Location")
          .map(from::resolve)
          .filter(
              target ->
                  from.getScheme().equalsIgnoreCase(target.getScheme())
                      && from.getRawAuthority().equalsIgnoreCase(target.getRawAuthority()));
    } catch (IllegalArgumentException _) {
      return Optional.empty(); // no address at all
    }
  }

  /** The client's own time limit ends with the headers; ours includes a body that never ends. */
  private static int ask(HttpClient client, HttpRequest request, Deadline deadline)
      throws InterruptedException {
    return TimeLimit.within(
        deadline,
        "waiting for an answer",
        () -> {
          try {
            HttpRequest next = request;
            for (int hops = 0; ; hops++) {
              HttpResponse<Void> answer = client.send(next, HttpResponse.BodyHandlers.discarding());
              Optional<URI> target = redirect(next.uri(), answer);
              if (target.isEmpty() || hops == MAX_REDIRECTS) {
                return answer.statusCode();
              }
              next = HttpRequest.newBuilder(request, (_, _) -> true).uri(target.get()).build();
            }
          } catch (IOException e) {
            throw new TaskFailure(e);
          }
        });
  }

  /** An attempt that failed; the next may not. */
  private static final class TaskFailure extends RuntimeException {
    TaskFailure(IOException cause) {
      super(cause.getMessage() == null ? cause.toString() : cause.getMessage(), cause);
    }
  }
}
