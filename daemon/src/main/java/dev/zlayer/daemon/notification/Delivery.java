package dev.zlayer.daemon.notification;

import dev.zlayer.daemon.config.NotificationConfig;
import dev.zlayer.daemon.config.WebhookUrl;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Brings one notification to its receiver, in one attempt. Used by one thread. */
sealed interface Delivery extends AutoCloseable {
  /** Statuses that say that this very content will never be accepted. */
  Set<Integer> NEVER = Set.of(400, 413, 415, 422);

  void send(Notification notification, Deadline deadline) throws Failed, InterruptedException;

  @Override
  void close();

  /** An attempt did not succeed; its message holds nothing secret. */
  final class Failed extends Exception {
    private static final long serialVersionUID = 1L;

    /** Whether another attempt may succeed. */
    final boolean retried;

    Failed(String reason, boolean retried) {
      super(reason);
      this.retried = retried;
    }
  }

  static Delivery of(NotificationConfig config) {
    return config
        .webhook()
        .<Delivery>map(Webhook::new)
        .orElseGet(() -> new Program(Command.of(config.command())));
  }

  /** A POST; a redirect is a failure, since it would carry the event to where nobody sent it. */
  final class Webhook implements Delivery {
    private final WebhookUrl url;
    private final HttpClient client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .build();

    Webhook(WebhookUrl url) {
      this.url = url;
    }

    @Override
    public void send(Notification notification, Deadline deadline)
        throws Failed, InterruptedException {
      HttpRequest request =
          HttpRequest.newBuilder(url.uri())
              .header("Content-Type", notification.contentType())
              .header("User-Agent", "zlayer")
              .header("X-Zlayer-Event", String.valueOf(notification.sequence()))
              .timeout(deadline.left())
              .POST(HttpRequest.BodyPublishers.ofByteArray(notification.body()))
              .build();
      CompletableFuture<HttpResponse<InputStream>> answer =
          client.sendAsync(request, HttpResponse.BodyHandlers.ofInputStream());
      try {
        HttpResponse<InputStream> response = answer.get(deadline.leftNanos(), TimeUnit.NANOSECONDS);
        response.body().close(); // the status is all that counts
        int status = response.statusCode();
        if (status / 100 != 2) {
          throw new Failed("it answered with status " + status, !NEVER.contains(status));
        }
      } catch (TimeoutException _) {
        throw new Failed("no answer in time", true);
      } catch (ExecutionException e) {
        String kind = e.getCause() == null ? "unknown" : e.getCause().getClass().getSimpleName();
        throw new Failed("it cannot be reached (%s)".formatted(kind), true);
      } catch (IOException _) {
        throw new Failed("the connection broke", true);
      } finally {
        answer.cancel(true);
      }
    }

    @Override
    public void close() {
      client.shutdownNow();
    }
  }

  /** A program that reads it from standard input, started without a shell. */
  final class Program implements Delivery {
    private final Command command;

    Program(Command command) {
      this.command = command;
    }

    @Override
    public void send(Notification notification, Deadline deadline)
        throws Failed, InterruptedException {
      try {
        CommandResult result =
            Processes.run(
                command
                    .withInput(notification.body())
                    .withEnv(Map.of("ZLAYER_EVENT", String.valueOf(notification.sequence()))),
                deadline);
        if (!result.success()) {
          throw new Failed(
              "it exited with %d: %s".formatted(result.code(), result.lastLine()), true);
        }
      } catch (AgentException e) {
        throw new Failed(String.valueOf(e.getMessage()), true);
      }
    }

    @Override
    public void close() {}
  }
}
