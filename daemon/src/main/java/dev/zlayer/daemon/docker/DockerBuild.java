package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.build.BuildRequest;
import dev.zlayer.daemon.build.ImageBuilder;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.RegistryAuth;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;

/** Builds in the classic way, with the context in the body. */
final class DockerBuild implements Resource {
  private static final String CLASSIC =
      "BuildKit is not part of this engine: set DOCKER_BUILDKIT=0 to build in the classic way";

  private final ImageBuilder builder;
  private final DockerImageIndex images;
  private final DockerAllow allow;

  DockerBuild(ImageBuilder builder, DockerImageIndex images, DockerAllow allow) {
    this.builder = builder;
    this.images = images;
    this.allow = allow;
  }

  @Override
  public String title() {
    return "Building";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.post("/build", "Build an image from a Dockerfile.", this::build),
        Route.post("/build/prune", "Nothing is kept between builds.", DockerBuild::prune),
        Route.post(
            "/session", "Refused: BuildKit is not part of this engine.", DockerBuild::session),
        Route.post("/grpc", "Refused: BuildKit is not part of this engine.", DockerBuild::grpc));
  }

  /** Older clients show why the build that follows is refused, but not why this is. */
  private static ApiResponse session(ApiRequest call) {
    return upgraded(call, (in, _) -> in.transferTo(OutputStream.nullOutputStream()));
  }

  private static ApiResponse grpc(ApiRequest call) {
    return upgraded(call, new GrpcRefusal(CLASSIC));
  }

  private static ApiResponse upgraded(ApiRequest call, ApiResponse.Conversation conversation) {
    if (!call.header("Upgrade").equals(Optional.of("h2c"))) {
      throw DockerError.notImplemented(CLASSIC);
    }
    return new ApiResponse.Hijack("application/grpc", conversation);
  }

  private static ApiResponse prune(ApiRequest call) {
    return ApiResponse.json(
        Json.object().put("CachesDeleted", List.of()).put("SpaceReclaimed", 0).build());
  }

  private ApiResponse build(ApiRequest call) throws InterruptedException {
    BuildRequest request;
    try {
      request = request(call);
    } catch (DockerError e) {
      DockerQuery.skipArchive(call);
      throw e;
    }
    Function<String, Optional<RegistryAuth>> auths = auths(call);
    boolean quiet = DockerQuery.flag(call, "q");
    ImageBuilder.Prepared prepared = builder.receive(call.body());
    return JsonProgress.of(
        call.id(),
        progress -> {
          try (prepared) {
            ImageInfo made =
                builder.build(
                    prepared,
                    request,
                    auths,
                    line -> {
                      if (!quiet) {
                        progress.stream(worded(line) + "\n");
                      }
                    });
            Digest id =
                images
                    .of(made)
                    .orElseThrow(() -> DockerError.noSuchImage(made.digest().toString()))
                    .details()
                    .config();
            progress.aux(Json.object().put("ID", id).build());
            progress.stream(quiet ? id + "\n" : "Successfully built " + id.brief() + "\n");
            for (ImageRef tag : quiet ? List.<ImageRef>of() : request.tags()) {
              progress.stream("Successfully tagged " + tag.familiar() + "\n");
            }
          } catch (ImageBuilder.StepFailed e) {
            progress.error(e.code(), String.valueOf(e.getMessage()));
          }
        });
  }

  /** As clients know it. */
  private static String worded(String line) {
    return line.replaceFirst("^(?:\\[\\d+/\\d+] )?STEP (\\d+/\\d+): ", "Step $1 : ");
  }

  private BuildRequest request(ApiRequest call) {
    if (DockerQuery.text(call, "version").filter("2"::equals).isPresent()) {
      throw DockerError.badRequest(CLASSIC);
    }
    return new BuildRequest(
        call.queries("t").stream()
            .filter(tag -> !tag.isEmpty())
            .map(tag -> DockerImages.reference(tag, Optional.empty()))
            .toList(),
        DockerQuery.text(call, "dockerfile").orElse("Dockerfile"),
        json(call, "buildargs").stringMap(),
        json(call, "labels").stringMap(),
        DockerQuery.text(call, "target"),
        call.queries("extrahosts").stream()
            .flatMap(text -> Stream.of(text.split(",", -1)))
            .filter(host -> !host.isBlank())
            .toList(),
        limits(call),
        DockerQuery.flag(call, "pull"),
        network(call));
  }

  private BuildRequest.Network network(ApiRequest call) {
    return switch (DockerQuery.text(call, "networkmode").orElse("default")) {
      case "default", "bridge" -> BuildRequest.Network.DEFAULT;
      case "none" -> BuildRequest.Network.NONE;
      case "host" -> {
        allow.requireHostNamespaces();
        yield BuildRequest.Network.HOST;
      }
      default ->
          throw DockerError.unsupportedField("networkmode", "write default, bridge, host or none");
    };
  }

  /** Limits as the builder takes them. */
  private static List<String> limits(ApiRequest call) {
    var limits = new ArrayList<String>();
    amount(call, "shmsize", "shm-size", limits);
    amount(call, "memory", "memory", limits);
    amount(call, "memswap", "memory-swap", limits);
    amount(call, "cpushares", "cpu-shares", limits);
    amount(call, "cpuperiod", "cpu-period", limits);
    amount(call, "cpuquota", "cpu-quota", limits);
    for (String set : List.of("cpusetcpus", "cpusetmems")) {
      DockerQuery.text(call, set)
          .ifPresent(
              text -> limits.add("--%s=%s".formatted(set.replace("cpuset", "cpuset-"), text)));
    }
    for (Json limit : json(call, "ulimits").items()) {
      limits.add(
          "--ulimit=%s=%d:%d"
              .formatted(
                  limit.at("Name").string().orElse(""),
                  limit.at("Soft").integer().orElse(0L),
                  limit.at("Hard").integer().orElse(0L)));
    }
    if (DockerQuery.flag(call, "squash")) {
      limits.add("--squash");
    }
    return limits;
  }

  private static void amount(ApiRequest call, String name, String option, List<String> limits) {
    Optional<String> text = DockerQuery.text(call, name).filter(value -> !value.equals("0"));
    if (text.filter(value -> !value.matches("-?[0-9]{1,18}")).isPresent()) {
      throw DockerError.badRequest("%s is a whole number, not '%s'".formatted(name, text.get()));
    }
    text.ifPresent(value -> limits.add("--%s=%s".formatted(option, value)));
  }

  private static Json json(ApiRequest call, String name) {
    try {
      return DockerQuery.text(call, name).map(JsonText::parse).orElse(Json.Null.INSTANCE);
    } catch (AgentException.InvalidSpec e) {
      throw DockerError.badRequest("%s is not JSON: %s".formatted(name, e.getMessage()));
    }
  }

  /** Credentials by host, from a header with those of all registries that the client knows. */
  private static Function<String, Optional<RegistryAuth>> auths(ApiRequest call) {
    Map<String, RegistryAuth> all = new HashMap<>();
    Optional<String> header = call.header("X-Registry-Config").filter(text -> !text.isBlank());
    if (header.isPresent()) {
      try {
        String text = header.get().strip().replace('+', '-').replace('/', '_').replace("=", "");
        JsonText.parse(Base64.getUrlDecoder().decode(text))
            .members()
            .forEach(
                (host, auth) ->
                    RegistryHeader.auth(auth)
                        .ifPresent(
                            known ->
                                all.put(
                                    host.replaceFirst("^https?://", "").replaceFirst("/.*$", ""),
                                    known)));
      } catch (IllegalArgumentException | AgentException.InvalidSpec _) {
        throw DockerError.badRequest("invalid X-Registry-Config header: it is not base64 of JSON");
      }
    }
    return host ->
        Optional.ofNullable(all.get(host.equals(ImageRef.DEFAULT_HOST) ? "index.docker.io" : host));
  }
}
