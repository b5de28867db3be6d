package dev.zlayer.testkit.registry;

import dev.zlayer.host.http.TlsFiles;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.testkit.image.Content;
import dev.zlayer.testkit.image.MadeImage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.Optional;

/** The few requests that fill a registry: each blob in one piece, then the manifests. */
final class RegistryPush implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  private final HttpClient client;
  private final URI base;
  private final Optional<RegistryAuth.Basic> auth;

  /** With TLS if there is a certificate to trust. */
  RegistryPush(String host, Optional<RegistryAuth.Basic> auth, Optional<Path> certificate) {
    HttpClient.Builder builder = HttpClient.newBuilder();
    certificate.ifPresent(
        file -> builder.sslContext(new TlsFiles(Optional.of(file), Optional.empty()).context()));
    this.client = builder.build();
    this.base = URI.create((certificate.isPresent() ? "https://" : "http://") + host + "/v2/");
    this.auth = auth;
  }

  boolean answers() {
    try {
      return send(request(base).GET()).statusCode() == 200;
    } catch (UncheckedIOException _) {
      return false;
    }
  }

  void push(MadeImage image, String name, String tag) {
    image.blobs().forEach(blob -> pushBlob(name, blob));
    for (Content manifest : image.manifests()) {
      boolean root = manifest.digest().equals(image.digest());
      URI target = base.resolve(name + "/manifests/" + (root ? tag : manifest.digest().toString()));
      expect(
          201,
          request(target)
              .header("Content-Type", manifest.mediaType())
              .PUT(BodyPublishers.ofByteArray(manifest.bytes())));
    }
  }

  void delete(String name, Digest manifest) {
    expect(202, request(base.resolve(name + "/manifests/" + manifest)).DELETE());
  }

  private void pushBlob(String name, Content blob) {
    URI existing = base.resolve(name + "/blobs/" + blob.digest());
    if (send(request(existing).HEAD()).statusCode() == 200) {
      return;
    }
    URI uploads = base.resolve(name + "/blobs/uploads/");
    var started = expect(202, request(uploads).POST(BodyPublishers.noBody()));
    String location = started.headers().firstValue("Location").orElseThrow();
    String joint = location.contains("?") ? "&" : "?";
    URI target = uploads.resolve(location + joint + "digest=" + blob.digest());
    expect(
        201,
        request(target)
            .header("Content-Type", "application/octet-stream")
            .PUT(BodyPublishers.ofByteArray(blob.bytes())));
  }

  private HttpRequest.Builder request(URI uri) {
    HttpRequest.Builder request = HttpRequest.newBuilder(uri).timeout(TIMEOUT);
    auth.ifPresent(
        login -> {
          byte[] pair = (login.user() + ":" + login.password()).getBytes(StandardCharsets.UTF_8);
          request.header("Authorization", "Basic " + Base64.getEncoder().encodeToString(pair));
        });
    return request;
  }

  private HttpResponse<String> expect(int status, HttpRequest.Builder request) {
    HttpResponse<String> response = send(request);
    if (response.statusCode() != status) {
      throw new IllegalStateException(
          "%s %s answered %d: %s"
              .formatted(
                  response.request().method(),
                  response.uri(),
                  response.statusCode(),
                  response.body()));
    }
    return response;
  }

  private HttpResponse<String> send(HttpRequest.Builder request) {
    try {
      return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while talking to the registry", e);
    }
  }

  @Override
  public void close() {
    client.close();
  }
}
