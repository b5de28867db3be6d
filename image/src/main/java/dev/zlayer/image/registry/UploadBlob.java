package dev.zlayer.image.registry;

import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.store.DiskContentStore;
import dev.zlayer.port.RegistryAuth;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One blob on its way to a registry: {@code POST}, {@code PATCH} with the bytes, {@code PUT} with
 * the digest. What broke continues where the registry says it is, or from the start.
 */
final class UploadBlob {
  private static final Map<String, String> BYTES =
      Map.of("Content-Type", "application/octet-stream");

  private final Authorizer authorizer;
  private final Optional<RegistryAuth> auth;
  private final RegistryEndpoint endpoint;
  private final Descriptor blob;
  private final DiskContentStore content;
  private final LongConsumer progress;
  private @Nullable URI session;
  private boolean sending;
  private volatile long position; // the connection's thread moves it

  UploadBlob(
      Authorizer authorizer,
      Optional<RegistryAuth> auth,
      RegistryEndpoint endpoint,
      Descriptor blob,
      DiskContentStore content,
      LongConsumer progress) {
    this.authorizer = authorizer;
    this.auth = auth;
    this.endpoint = endpoint;
    this.blob = blob;
    this.content = content;
    this.progress = progress;
  }

  long position() {
    return position;
  }

  boolean exists() throws IOException, InterruptedException {
    var ask = RegistryTransport.Ask.of("HEAD", endpoint.blob(blob.digest().toString()), Map.of());
    try (RegistryResponse answer = send(Scope.PUSH, ask)) {
      if (answer.ok() || answer.absent()) {
        answer.body().drain();
        return answer.ok();
      }
      throw failure(answer);
    }
  }

  /** Whether the registry took it from another of its repositories; if not, an upload began. */
  boolean mount(String from) throws IOException, InterruptedException {
    var ask =
        RegistryTransport.Ask.of(
            "POST", endpoint.uploads("?mount=" + blob.digest() + "&from=" + from), Map.of());
    try (RegistryResponse answer = send(Scope.mounting(from), ask)) {
      answer.body().drain();
      if (answer.accepted()) {
        session = location(answer);
      }
      return answer.created(); // a refusal to mount is no refusal to upload
    } catch (RegistryException e) {
      if (e.problem() == RegistryException.Problem.DENIED) {
        return false;
      }
      throw e;
    }
  }

  /** One try to bring over what is missing. */
  void attempt() throws IOException, InterruptedException {
    if (session == null || (sending && !resume())) {
      begin();
    }
    send();
    finish();
  }

  private void begin() throws IOException, InterruptedException {
    position = 0;
    sending = false;
    try (RegistryResponse answer =
        send(Scope.PUSH, RegistryTransport.Ask.of("POST", endpoint.uploads(""), Map.of()))) {
      if (!answer.accepted()) {
        throw failure(answer);
      }
      answer.body().drain();
      session = location(answer);
    }
  }

  /** Asks how much has arrived; false when the registry no longer knows the upload. */
  private boolean resume() throws IOException, InterruptedException {
    try (RegistryResponse answer =
        send(Scope.PUSH, RegistryTransport.Ask.of("GET", required(session), Map.of()))) {
      answer.body().drain();
      Optional<String> range = answer.header("Range").map(text -> text.replaceFirst("^bytes=", ""));
      if (!answer.empty() || range.isEmpty() || !range.get().matches("0-[0-9]{1,18}")) {
        session = null;
        return false;
      }
      long last = Long.parseLong(range.get().substring(2));
      position = last == 0 ? 0 : Math.min(last + 1, blob.size());
      session = location(answer);
      return true;
    }
  }

  private void send() throws IOException, InterruptedException {
    long from = position;
    if (from == blob.size()) {
      return;
    }
    Map<String, String> headers =
        from == 0
            ? BYTES
            : Map.of(
                "Content-Type",
                "application/octet-stream",
                "Content-Range",
                from + "-" + (blob.size() - 1));
    var payload =
        new Payload(
            () -> opened(from),
            blob.size() - from,
            sent -> {
              position = Math.max(position, from + sent);
              progress.accept(from + sent);
            });
    var ask = RegistryTransport.Ask.of("PATCH", required(session), headers).withPayload(payload);
    sending = true;
    try (RegistryResponse answer = send(Scope.PUSH, ask)) {
      if (!answer.accepted() && !answer.empty() && !answer.created()) {
        boolean lost = answer.rangeRefused() || answer.absent();
        RegistryException failure = failure(answer);
        session = null;
        throw lost
            ? new RegistryException(
                RegistryException.Problem.BROKEN, String.valueOf(failure.getMessage()), failure)
            : failure;
      }
      answer.body().drain();
      session = location(answer);
      position = blob.size();
    }
  }

  private InputStream opened(long from) throws IOException {
    InputStream in = content.read(blob.digest());
    in.skipNBytes(from);
    return in;
  }

  private void finish() throws IOException, InterruptedException {
    URI at = required(session);
    String joint = at.getRawQuery() == null ? "?" : "&";
    var ask =
        RegistryTransport.Ask.of("PUT", URI.create(at + joint + "digest=" + blob.digest()), BYTES);
    try (RegistryResponse answer = send(Scope.PUSH, ask)) {
      if (!answer.created() && !answer.empty()) {
        session = null;
        throw failure(answer);
      }
      answer.body().drain();
    }
  }

  private RegistryResponse send(Scope scope, RegistryTransport.Ask ask)
      throws IOException, InterruptedException {
    return authorizer.send(endpoint, auth, scope, ask);
  }

  private URI location(RegistryResponse answer) throws RegistryException {
    String text =
        answer
            .header("Location")
            .orElseThrow(
                () ->
                    new RegistryException(
                        RegistryException.Problem.UNSOUND,
                        endpoint.name() + " does not say where to upload to"));
    return RegistryTransport.target(answer.uri(), text);
  }

  private static URI required(@Nullable URI session) {
    if (session == null) {
      throw new IllegalStateException("no upload has begun");
    }
    return session;
  }

  private RegistryException failure(RegistryResponse answer) throws InterruptedException {
    return answer.failure(
        endpoint.name(),
        "upload of %s to %s".formatted(blob.digest(), endpoint.repository()),
        authorizer.now());
  }
}
