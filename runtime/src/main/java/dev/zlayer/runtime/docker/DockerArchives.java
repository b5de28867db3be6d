package dev.zlayer.runtime.docker;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Images that travel to and from the engine as files. */
record DockerArchives(DockerApi api) {
  private static final Pattern LOADED = Pattern.compile("Loaded image(?: ID)?: (\\S+)\\s*");

  /** Names or ids of what was in the archive. */
  List<String> load(InputStream tar) throws InterruptedException {
    List<String> names = new ArrayList<>();
    send(
        HttpRequest.of("POST", "/images/load?quiet=true"),
        tar,
        "loading an archive",
        line -> {
          Matcher loaded = LOADED.matcher(line.at("stream").string().orElse(""));
          if (loaded.matches()) {
            names.add(loaded.group(1));
          }
        });
    return names;
  }

  void importRoot(InputStream tar, ImageRef as) throws InterruptedException {
    String target =
        "/images/create?fromSrc=-&repo=%s&tag=%s"
            .formatted(DockerApi.encoded(as.name()), DockerApi.encoded(as.selector()));
    send(HttpRequest.of("POST", target), tar, "importing " + as, _ -> {});
  }

  private void send(
      HttpRequest request,
      InputStream tar,
      String doing,
      java.util.function.Consumer<Json> receiver)
      throws InterruptedException {
    HttpResponse response =
        api.open(
            request
                .with("Content-Type", "application/x-tar")
                .withBody(new HttpRequest.Body.Streamed(tar::transferTo)),
            DockerApi.SILENCE);
    if (!response.success()) {
      throw new AgentException.InvalidSpec(doing + ": " + DockerApi.read(response).message());
    }
    JsonStream.each(
        response,
        doing,
        line -> {
          line.at("error")
              .string()
              .ifPresent(
                  error -> {
                    throw new AgentException.InvalidSpec(doing + ": " + error);
                  });
          receiver.accept(line);
        });
  }

  void save(List<ImageRef> images, OutputStream tar) throws InterruptedException {
    String names =
        images.stream()
            .map(image -> "names=" + DockerApi.encoded(image.canonical()))
            .collect(Collectors.joining("&"));
    HttpResponse response = api.open(HttpRequest.get("/images/get?" + names), DockerApi.SILENCE);
    if (!response.success()) {
      throw DockerApi.read(response).refusal("images " + images);
    }
    try (response) {
      response.body().transferTo(tar);
    } catch (IOException e) {
      if (Thread.interrupted()) {
        throw new InterruptedException("saving was interrupted");
      }
      throw new AgentException.Network("saving " + images + ": " + e.getMessage(), e);
    }
  }
}
