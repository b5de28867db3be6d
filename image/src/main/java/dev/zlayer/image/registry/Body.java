package dev.zlayer.image.registry;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of an answer, pulled by one reader. Unlike the JDK's own stream it gives up when
 * nothing arrives for a while, and hands the buffers over as they come, without copying. Only a
 * handful of buffers is ever in memory: the sender waits for the reader.
 */
final class Body implements HttpResponse.BodySubscriber<Body>, AutoCloseable {
  private static final int AHEAD = 4;
  private static final int DRAIN = 16 << 10;

  private sealed interface Signal {}

  private record Data(List<ByteBuffer> buffers) implements Signal {}

  private record Failure(Throwable cause) implements Signal {}

  private record End() implements Signal {}

  private final Duration stall;
  private final BlockingQueue<Signal> signals = new LinkedBlockingQueue<>();
  private final ArrayDeque<ByteBuffer> ready = new ArrayDeque<>();
  private volatile Flow.@Nullable Subscription subscription;
  private boolean ended;

  /**
   * @param stall how long nothing may arrive
   */
  Body(Duration stall) {
    this.stall = stall;
  }

  @Override
  public CompletionStage<Body> getBody() {
    return CompletableFuture.completedStage(this);
  }

  @Override
  public void onSubscribe(Flow.Subscription subscription) {
    this.subscription = subscription;
    subscription.request(AHEAD);
  }

  @Override
  public void onNext(List<ByteBuffer> buffers) {
    signals.add(new Data(buffers));
  }

  @Override
  public void onError(Throwable cause) {
    signals.add(new Failure(cause));
  }

  @Override
  public void onComplete() {
    signals.add(new End());
  }

  /** The next bytes, or null at the end. */
  @Nullable ByteBuffer next() throws RegistryException, InterruptedException {
    while (ready.isEmpty() && !ended) {
      Signal signal = signals.poll(stall.toNanos(), TimeUnit.NANOSECONDS);
      switch (signal) {
        case null -> {
          close();
          throw new RegistryException(
              RegistryException.Problem.BROKEN,
              "no data for " + dev.zlayer.error.Durations.print(stall));
        }
        case Data(var buffers) -> {
          ready.addAll(buffers);
          Flow.Subscription source = subscription;
          if (source != null) {
            source.request(1);
          }
        }
        case Failure(var cause) -> {
          ended = true;
          throw new RegistryException(
              RegistryException.Problem.BROKEN,
              "the connection broke: " + RegistryTransport.reason(cause),
              cause);
        }
        case End() -> ended = true;
      }
    }
    return ready.poll();
  }

  /** All of it, or as much of it as {@code limit} plus one byte, so that the caller can tell. */
  byte[] bytes(int limit) throws IOException, InterruptedException {
    var result = new ByteArrayOutputStream();
    ByteBuffer next = next();
    while (next != null) {
      var chunk = new byte[Math.min(next.remaining(), limit + 1 - result.size())];
      next.get(chunk);
      result.writeBytes(chunk);
      if (result.size() > limit) {
        close();
        break;
      }
      next = next();
    }
    return result.toByteArray();
  }

  /** Reads a short rest, so that the connection can serve the next request. */
  void drain() throws InterruptedException {
    try {
      bytes(DRAIN);
    } catch (IOException _) {
      close(); // the connection is not reused then, which is all that was at stake
    }
  }

  @Override
  public void close() {
    Flow.Subscription source = subscription;
    if (source != null && !ended) {
      source.cancel();
    }
    ended = true;
  }
}
