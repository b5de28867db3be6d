package dev.zlayer.runtime.docker;

import dev.zlayer.container.FileChange;
import dev.zlayer.container.PathStat;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.Base64;
import java.util.List;

/** Files of a container, through the engine, which keeps to the container's root. */
record DockerContainerFiles(DockerApi api, String container) {
  private static final String STAT_HEADER = "X-Docker-Container-Path-Stat";

  /** Go's file types beside those of the kernel; more special ones first. */
  private record Type(int bits, int kernel) {}

  private static final List<Type> TYPES =
      List.of(
          new Type(1 << 21, 0020000),
          new Type(1 << 31, 0040000),
          new Type(1 << 27, 0120000),
          new Type(1 << 26, 0060000),
          new Type(1 << 25, 0010000),
          new Type(1 << 24, 0140000));

  PathStat stat(String path) throws InterruptedException {
    try (HttpResponse response = api.open(HttpRequest.of("HEAD", target(path)), api.deadline())) {
      String header =
          response
              .headers()
              .first(STAT_HEADER)
              .orElseThrow(
                  () ->
                      new AgentException.NotFound(
                          "'" + path + "'", "the container has no such file"));
      Json json = JsonText.parse(Base64.getDecoder().decode(header));
      return new PathStat(
          json.at("name").string().orElse(""),
          json.at("size").integer().orElse(0L),
          mode(json.at("mode").integer().orElse(0L).intValue()),
          json.at("mtime")
              .string()
              .map(text -> OffsetDateTime.parse(text).toInstant())
              .orElse(Instant.EPOCH),
          json.at("linkTarget").string().filter(text -> !text.isEmpty()));
    }
  }

  static int mode(int go) {
    int type =
        TYPES.stream()
            .filter(candidate -> (go & candidate.bits) != 0)
            .findFirst()
            .map(Type::kernel)
            .orElse(0100000);
    return type
        | (go & 0777)
        | ((go & 1 << 23) != 0 ? 04000 : 0)
        | ((go & 1 << 22) != 0 ? 02000 : 0)
        | ((go & 1 << 20) != 0 ? 01000 : 0);
  }

  void copyOut(String path, OutputStream tar) throws InterruptedException {
    HttpResponse response = api.open(HttpRequest.get(target(path)), DockerApi.SILENCE);
    if (!response.success()) {
      throw DockerApi.read(response).refusal("'" + path + "'");
    }
    try (response) {
      response.body().transferTo(tar);
    } catch (IOException e) {
      throw broken(path, e);
    }
  }

  void copyIn(String directory, InputStream tar) throws InterruptedException {
    HttpRequest request =
        HttpRequest.of("PUT", target(directory))
            .with("Content-Type", "application/x-tar")
            .withBody(new HttpRequest.Body.Streamed(tar::transferTo));
    DockerApi.Answer _ = api.send(request, DockerApi.SILENCE).required("'" + directory + "'");
  }

  List<FileChange> changes() throws InterruptedException {
    return api
        .get("/containers/" + container + "/changes")
        .required("container " + container)
        .body()
        .items()
        .stream()
        .map(
            change ->
                new FileChange(
                    change.at("Path").string().orElse(""),
                    switch (change.at("Kind").integer().orElse(0L).intValue()) {
                      case 1 -> FileChange.Kind.ADDED;
                      case 2 -> FileChange.Kind.DELETED;
                      default -> FileChange.Kind.MODIFIED;
                    }))
        .toList();
  }

  private String target(String path) {
    return "/containers/%s/archive?path=%s".formatted(container, DockerApi.encoded(path));
  }

  private static AgentException broken(String path, IOException e) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException("copying " + path + " was interrupted");
    }
    return new AgentException.Network("copying '" + path + "': " + e.getMessage(), e);
  }
}
