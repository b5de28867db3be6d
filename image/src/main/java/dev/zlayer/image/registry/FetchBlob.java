package dev.zlayer.image.registry;

import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.image.store.Hashes;
import dev.zlayer.image.store.Ingest;
import dev.zlayer.port.RegistryAuth;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * {@code GET /v2/<name>/blobs/<digest>}, from where an earlier try ended. The URLs that a
 * descriptor may name are never followed.
 */
record FetchBlob(
    Authorizer authorizer, Optional<RegistryAuth> auth, Retries retries, Consumer<String> notices) {
  /** Returns when the blob is verified and in the store. */
  void from(Endpoint endpoint, Ingest into, BlobListener listener)
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

  private void fetchAndCommit(Endpoint endpoint, Ingest into, BlobListener listener)
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

  private static RegistryException unsound(Endpoint endpoint, InvalidImageException cause) {
    return new RegistryException(
        RegistryException.Problem.UNSOUND, endpoint.name() + ": " + cause.getMessage(), cause);
  }

  private void attempt(Endpoint endpoint, Ingest into, BlobListener listener)
      throws IOException, InterruptedException {
    if (into.position() == into.size()) {
      return;
    }
    try (RegistryResponse answer = ask(endpoint, into)) {
      if (answer.rangeRefused() && into.position() > 0) {
        into.restart();
        throw new RegistryException(
            RegistryException.Problem.BROKEN, endpoint.name() + " cannot resume " + into.digest());
      }
      accept(endpoint, answer, into);
      copy(endpoint, answer, into, listener);
    }
  }

  private RegistryResponse ask(Endpoint endpoint, Ingest into)
      throws IOException, InterruptedException {
    Map<String, String> headers =
        into.position() == 0 ? Map.of() : Map.of("Range", "bytes=" + into.position() + "-");
    return authorizer.send(
        endpoint, auth, Transport.Ask.of("GET", endpoint.blob(into.digest().toString()), headers));
  }

  /** Checks that what follows is the rest of the blob, or goes back to the start if it is all. */
  private void accept(Endpoint endpoint, RegistryResponse answer, Ingest into)
      throws IOException, InterruptedException {
    if (answer.ok()) {
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
    long rest = into.size() - into.position();
    long announced = answer.headers().firstValueAsLong("Content-Length").orElse(rest);
    if (announced != rest) {
      throw new InvalidImageException(
          "%s is announced with %d bytes instead of %d"
              .formatted(into.digest(), announced + into.position(), into.size()));
    }
  }

  private static void copy(
      Endpoint endpoint, RegistryResponse answer, Ingest into, BlobListener listener)
      throws IOException, InterruptedException {
    try {
      @Nullable ByteBuffer next = answer.body().next();
      while (next != null) {
        into.append(next);
        listener.received(into.position());
        next = answer.body().next();
      }
    } catch (RegistryException e) {
      throw broken(endpoint, into, e.getMessage(), e);
    }
    if (into.position() < into.size()) {
      throw broken(endpoint, into, "it ended too early", null);
    }
  }

  private static RegistryException broken(
      Endpoint endpoint, Ingest into, @Nullable String reason, @Nullable Throwable cause) {
    return new RegistryException(
        RegistryException.Problem.BROKEN,
        "%s sent %d of %d bytes of %s: %s"
            .formatted(endpoint.name(), into.position(), into.size(), into.digest(), reason),
        cause);
  }

  /** A small blob, kept in memory only. */
  byte[] bytes(Endpoint endpoint, Descriptor blob, int limit)
      throws IOException, InterruptedException {
    return retries.call(notices, () -> fetchBytes(endpoint, blob, limit));
  }

  private byte[] fetchBytes(Endpoint endpoint, Descriptor blob, int limit)
      throws IOException, InterruptedException {
    Transport.Ask ask = Transport.Ask.of("GET", endpoint.blob(blob.digest().toString()), Map.of());
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
