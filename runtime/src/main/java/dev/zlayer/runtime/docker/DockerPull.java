package dev.zlayer.runtime.docker;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.RegistryAuth;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Lets the engine pull an image, and tells what it tells. */
record DockerPull(DockerApi api, Consumer<PullEvent> progress) {
  private static final Pattern DIGEST = Pattern.compile("Digest: (sha256:[0-9a-f]{64})");
  private static final Pattern UNREACHABLE =
      Pattern.compile(
          "dial tcp|connection refused|no such host|i/o timeout|tls handshake|deadline"
              + " exceeded|request canceled");

  void pull(PullRequest request) throws InterruptedException {
    HttpRequest post = HttpRequest.of("POST", target(request));
    if (request.auth().isPresent()) {
      post = post.with("X-Registry-Auth", auth(request.image(), request.auth().get()));
    }
    HttpResponse response = api.open(post, DockerApi.SILENCE);
    if (!response.success()) {
      throw failure(request, DockerApi.read(response).message());
    }
    Map<String, String> last = new HashMap<>();
    JsonStream.each(response, "pulling " + request.image(), line -> report(request, line, last));
  }

  private static String target(PullRequest request) {
    ImageRef image = request.image();
    return "/images/create?fromImage=%s&tag=%s"
            .formatted(DockerApi.encoded(image.name()), DockerApi.encoded(image.selector()))
        + request.platform().map(p -> "&platform=" + DockerApi.encoded(p.toString())).orElse("");
  }

  /** Each layer's step once; the engine names layers by a part of their digest only. */
  private void report(PullRequest request, Json line, Map<String, String> last) {
    line.at("error")
        .string()
        .ifPresent(
            error -> {
              throw failure(request, error);
            });
    String status = line.at("status").string().orElse("");
    Matcher digest = DIGEST.matcher(status);
    if (digest.matches()) {
      progress.accept(new PullEvent.Resolved(Digest.parse(digest.group(1)), last.size(), 0));
      return;
    }
    Optional<String> layer = line.at("id").string();
    if (layer.isPresent() && !status.equals(last.put(layer.get(), status))) {
      progress.accept(new PullEvent.Notice(layer.get() + ": " + status));
    }
  }

  private static AgentException failure(PullRequest request, String message) {
    String lower = message.toLowerCase(Locale.ROOT);
    String image = request.image().familiar();
    if (lower.contains("no matching manifest")
        || lower.contains("does not match the specified platform")) {
      return new AgentException.WrongPlatform(
          DockerRuntime.NAME,
          request.platform().map(Object::toString).orElse("the engine's platform"),
          "others",
          image);
    }
    return UNREACHABLE.matcher(lower).find()
        ? new AgentException.Network("pulling '" + image + "': " + message)
        : new AgentException.PullFailed(image, message);
  }

  static String auth(ImageRef image, RegistryAuth auth) {
    Json.Builder json = Json.object().put("serveraddress", image.host());
    switch (auth) {
      case RegistryAuth.Basic(String user, String password) ->
          json.put("username", user).put("password", password);
      case RegistryAuth.Token(String token) -> json.put("identitytoken", token);
    }
    return Base64.getUrlEncoder()
        .encodeToString(JsonText.print(json.build()).getBytes(StandardCharsets.UTF_8));
  }
}
