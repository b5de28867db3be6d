package dev.zlayer.image.registry;

import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.image.store.Hashes;
import dev.zlayer.image.store.Ingest;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.task.Stopwatch;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * {@code GET /v2/<name>/blobs/<digest>}, from where an earlier try ended. The URLs that a
 * descriptor may name are never followed.
 */
record FetchBlob(
    Authorizer authorizer,
    Optional<RegistryAuth> auth,
    Retries retries,
    RangesAhead.Division division,
    Consumer<String> notices) {
  /** Returns when the blob is verified and in the store. */
  void from(RegistryEndpoint endpoint, Ingest into, BlobListener listener)
      throws IOException, InterruptedException {
    boolean resumed = into.position() > 0;
    try {
      fetchAndCommit(endpoint, into, listener);
    } catch (InvalidImageException first) {
      into.restart();
      if (!resumed) {
        throw unsound(endpoint, first);
      }
      notices.accept(first.getMessage() + "; fetching it again from the start");
      try {
        fetchAndCommit(endpoint, into, listener);
      } catch (InvalidImageException second) {
        into.restart();
        throw unsound(endpoint, second);
      }
    }
  }

  private void fetchAndCommit(RegistryEndpoint endpoint, Ingest into, BlobListener listener)
      throws IOException, InterruptedException {
    retries.call(
        notices,
        into::position,
        () -> {
          attempt(endpoint, into, listener);
          return true;
        });
    listener.verifying();
    into.commit();
  }

  private static RegistryException unsound(RegistryEndpoint endpoint, InvalidImageException cause) {
    return new RegistryException(
        RegistryException.Problem.UNSOUND, endpoint.name() + ": " + cause.getMessage(), cause);
  }

  private void attempt(RegistryEndpoint endpoint, Ingest into, BlobListener listener)
      throws IOException, InterruptedException {
    if (division.pays(into.size() - into.position())
        && waitsForFirstPart(endpoint, into, listener)) {
      fetchAhead(endpoint, into, listener);
    }
    if (into.position() < into.size()) {
      fetchUntil(endpoint, into, into.size(), listener);
    }
  }

  /**
   * Fetches the first part alone and tells whether more connections could be faster: the registry
   * divides blobs, and most of the time went into waiting for it.
   */
  private boolean waitsForFirstPart(RegistryEndpoint endpoint, Ingest into, BlobListener listener)
      throws IOException, InterruptedException {
    long from = into.position();
    long until = from + division.part();
    Stopwatch began = Stopwatch.started();
    try (RegistryResponse answer = ask(endpoint, into, from, until)) {
      if (answer.rangeRefused() || (answer.partial() && !answer.delivers(from, until))) {
        return false;
      }
      if (!answer.partial()) {
        copy(endpoint, answer, into, accept(endpoint, answer, into, into.size()), listener);
        return false;
      }
      Duration waited = copy(endpoint, answer, into, until, listener);
      return waited.toNanos() >= began.passed().toNanos() * division.waiting();
    }
  }

  private void fetchAhead(RegistryEndpoint endpoint, Ingest into, BlobListener listener)
      throws IOException, InterruptedException {
    try (var ahead =
        new RangesAhead(into, division, (from, until) -> part(endpoint, into, from, until))) {
      ahead.deliver(listener);
      while (into.position() < into.size()) {
        fetchUntil(endpoint, into, ahead.nextPart(), listener);
        ahead.deliver(listener);
      }
    }
  }

  private RegistryResponse part(RegistryEndpoint endpoint, Ingest into, long from, long until)
      throws IOException, InterruptedException {
    RegistryResponse answer = ask(endpoint, into, from, until);
    if (answer.delivers(from, until)) {
      return answer;
    }
    try (answer) {
      throw answer.failure(endpoint.name(), "part of blob " + into.digest(), authorizer.now());
    }
  }

  private void fetchUntil(RegistryEndpoint endpoint, Ingest into, long until, BlobListener listener)
      throws IOException, InterruptedException {
    try (RegistryResponse answer = ask(endpoint, into, into.position(), until)) {
      if (answer.rangeRefused() && into.position() > 0) {
        into.restart();
        throw new RegistryException(
            RegistryException.Problem.BROKEN, endpoint.name() + " cannot resume " + into.digest());
      }
      copy(endpoint, answer, into, accept(endpoint, answer, into, until), listener);
    }
  }

  private RegistryResponse ask(RegistryEndpoint endpoint, Ingest into, long from, long until)
      throws IOException, InterruptedException {
    String end = until == into.size() ? "" : String.valueOf(until - 1);
    Map<String, String> headers =
        from == 0 && end.isEmpty() ? Map.of() : Map.of("Range", "bytes=" + from + "-" + end);
    return authorizer.send(
        endpoint,
        auth,
        RegistryTransport.Ask.of("GET", endpoint.blob(into.digest().toString()), headers));
  }

  /**
   * Checks that what follows is what was asked for, or goes back to the start if it is all; tells
   * where it ends.
   */
  private long accept(RegistryEndpoint endpoint, RegistryResponse answer, Ingest into, long until)
      throws IOException, InterruptedException {
    long end = until;
    if (answer.ok()) {
      end = into.size();
      if (into.position() > 0) {
        into.restart();
      }
    } else if (answer.partial() && into.position() > 0) {
      String range = answer.header("Content-Range").orElse("");
      if (!range.startsWith("bytes " + into.position() + "-")) {
        throw new InvalidImageException(
            "asked to resume at %d, got '%s'"
                .formatted(into.position(), RegistryResponse.printable(range)));
      }
    } else {
      throw answer.failure(endpoint.name(), "blob " + into.digest(), authorizer.now());
    }
    long rest = end - into.position();
    long announced = answer.headers().firstValueAsLong("Content-Length").orElse(rest);
    if (announced != rest) {
      throw new InvalidImageException(
          "%s is announced with %d bytes instead of %d"
              .formatted(into.digest(), announced + into.position(), end));
    }
    return end;
  }

  /** Tells how much of the time was spent waiting for the registry. */
  private static Duration copy(
      RegistryEndpoint endpoint,
      RegistryResponse answer,
      Ingest into,
      long until,
      BlobListener listener)
      throws IOException, InterruptedException {
    Duration waited = Duration.ZERO;
    try {
      while (true) {
        Stopwatch began = Stopwatch.started();
        @Nullable ByteBuffer next = answer.body().next();
        waited = waited.plus(began.passed());
        if (next == null) {
          break;
        }
        into.append(next);
        listener.received(into.position());
      }
    } catch (RegistryException e) {
      throw broken(endpoint, into, e.getMessage(), e);
    }
    if (into.position() < until) {
      throw broken(endpoint, into, "it ended too early", null);
    }
    return waited;
  }

  private static RegistryException broken(
      RegistryEndpoint endpoint, Ingest into, @Nullable String reason, @Nullable Throwable cause) {
    return new RegistryException(
        RegistryException.Problem.BROKEN,
        "%s sent %d of %d bytes of %s: %s"
            .formatted(endpoint.name(), into.position(), into.size(), into.digest(), reason),
        cause);
  }

  /** A small blob, kept in memory only. */
  byte[] bytes(RegistryEndpoint endpoint, Descriptor blob, int limit)
      throws IOException, InterruptedException {
    return retries.call(notices, () -> fetchBytes(endpoint, blob, limit));
  }

  private byte[] fetchBytes(RegistryEndpoint endpoint, Descriptor blob, int limit)
      throws IOException, InterruptedException {
    RegistryTransport.Ask ask =
        RegistryTransport.Ask.of("GET", endpoint.blob(blob.digest().toString()), Map.of());
    try (RegistryResponse answer = authorizer.send(endpoint, auth, ask)) {
      if (!answer.ok()) {
        throw answer.failure(endpoint.name(), "blob " + blob.digest(), authorizer.now());
      }
      byte[] bytes = answer.body().bytes(limit);
      if (bytes.length > limit || !Hashes.of(bytes, blob.digest()).equals(blob.digest())) {
        throw unsound(
            endpoint,
            new InvalidImageException("content of " + blob.digest() + " is something else"));
      }
      return bytes;
    }
  }
}
