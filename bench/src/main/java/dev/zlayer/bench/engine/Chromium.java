package dev.zlayer.bench.engine;

import dev.zlayer.bench.Census;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;

/** A browser with one page, driven by its debugging protocol. */
public final class Chromium implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final Process process;
  private final HttpClient http = HttpClient.newHttpClient();
  private final Map<Long, CompletableFuture<Json>> waiting = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();
  private final WebSocket socket;
  private final String session;

  public Chromium(Path directory) throws IOException, InterruptedException {
    Files.createDirectories(directory);
    this.process =
        Processes.start(
            Command.of(
                "chromium",
                "--headless=new",
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--no-first-run",
                "--remote-debugging-port=0",
                "--user-data-dir=" + directory,
                "about:blank"),
            directory.resolve("log").toFile());
    try {
      Path file = directory.resolve("DevToolsActivePort");
      Awaitility.await("chromium")
          .atMost(LIMIT)
          .until(() -> Files.exists(file) && Files.readAllLines(file).size() == 2);
      List<String> lines = Files.readAllLines(file);
      this.socket =
          http.newWebSocketBuilder()
              .buildAsync(
                  URI.create("ws://127.0.0.1:" + lines.getFirst() + lines.getLast()), new Answers())
              .join();
      String target =
          text(
              send("Target.createTarget", Json.object().put("url", "about:blank"), ""), "targetId");
      this.session =
          text(
              send(
                  "Target.attachToTarget",
                  Json.object().put("targetId", target).put("flatten", true),
                  ""),
              "sessionId");
      call("Page.enable", Json.object());
      call("Network.enable", Json.object());
    } catch (RuntimeException | IOException | InterruptedException e) {
      Tool.end(process);
      http.close();
      throw e;
    }
  }

  private static String text(Json answer, String name) {
    return answer.at(name).string().orElseThrow();
  }

  /** CPU seconds of all its processes so far. */
  public double cpuSeconds() {
    return Census.cpuSeconds(line -> line.contains("/chromium/chromium "));
  }

  /** A method of the protocol, of the page. */
  public Json call(String method, Json.Builder parameters)
      throws IOException, InterruptedException {
    return send(method, parameters, session);
  }

  /** What an expression of the page gives, which may be a promise. */
  public Json evaluate(String expression) throws IOException, InterruptedException {
    Json answer =
        call(
            "Runtime.evaluate",
            Json.object()
                .put("expression", expression)
                .put("awaitPromise", true)
                .put("returnByValue", true));
    if (!answer.at("exceptionDetails").isNull()) {
      throw new IOException(expression + ": " + JsonText.print(answer.at("exceptionDetails")));
    }
    return answer.at("result").at("value");
  }

  /** Until an expression is true. */
  public void await(String expression) {
    Awaitility.await(expression)
        .atMost(LIMIT)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(20))
        .ignoreExceptions() // a page that is just being replaced has no answer
        .until(() -> evaluate(expression).bool().orElse(false));
  }

  private Json send(String method, Json.Builder parameters, String of)
      throws IOException, InterruptedException {
    long number = numbers.incrementAndGet();
    var answer = new CompletableFuture<Json>();
    waiting.put(number, answer);
    Json.Builder message =
        Json.object().put("id", number).put("method", method).put("params", parameters.build());
    if (!of.isEmpty()) {
      message.put("sessionId", of);
    }
    socket.sendText(JsonText.print(message.build()), true).join();
    try {
      Json got = answer.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
      if (!got.at("error").isNull()) {
        throw new IOException(method + ": " + JsonText.print(got.at("error")));
      }
      return got.at("result");
    } catch (ExecutionException | TimeoutException e) {
      throw new IOException(method, e);
    }
  }

  /** Gives each answer to who waits for it; what happens meanwhile is not of interest. */
  private final class Answers implements WebSocket.Listener {
    private final StringBuilder text = new StringBuilder();

    @Override
    public CompletionStage<?> onText(WebSocket from, CharSequence part, boolean last) {
      text.append(part);
      if (last) {
        Json message = JsonText.parse(text.toString());
        text.setLength(0);
        message
            .at("id")
            .integer()
            .map(waiting::remove)
            .ifPresent(answer -> answer.complete(message));
      }
      from.request(1);
      return CompletableFuture.completedStage(null);
    }
  }

  @Override
  public void close() {
    socket.abort();
    http.close();
    Tool.end(process);
  }
}
