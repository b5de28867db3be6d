package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.build.BuildRequest;
import dev.zlayer.daemon.build.ImageBuilder;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageInfo;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Builds of images. */
public final class BuildResource implements Resource {
  private final ImageBuilder builder;

  /** One line: output, and at last result. */
  record Line(String type, Optional<String> text, Optional<Digest> digest) {}

  public BuildResource(ImageBuilder builder) {
    this.builder = builder;
  }

  @Override
  public String title() {
    return "Building images";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.post("/images/build", "Build an image from a Dockerfile with buildah.", this::build)
            .with("tag", "Name of the image; may be repeated.")
            .with("dockerfile", "Path of the Dockerfile in the context (default: Dockerfile).")
            .with("arg", "Build argument NAME=value; may be repeated.")
            .with("label", "Label NAME=value; may be repeated.")
            .with("target", "Stage to stop at.")
            .withFlag("pull", "Pull base images even if they are present.")
            .withFlag("network", "Let commands use the default network (default: true).")
            .takes(ApiRequest.TAR, "The context, optionally compressed.")
            .streams(
                Line.class, "What the builder prints, and at last the digest as type result."));
  }

  private ApiResponse build(ApiRequest call) throws InterruptedException {
    var request =
        new BuildRequest(
            call.queries("tag").stream().map(ImageRef::parse).toList(),
            call.query("dockerfile").orElse("Dockerfile"),
            pairs(call, "arg"),
            pairs(call, "label"),
            call.query("target"),
            List.of(),
            List.of(),
            call.flag("pull", false),
            call.flag("network", true) ? BuildRequest.Network.DEFAULT : BuildRequest.Network.NONE);
    ImageBuilder.Prepared prepared = builder.receive(call.body());
    return new ApiResponse.Lines(
        out -> {
          try (prepared) {
            ImageInfo made =
                builder.build(prepared, request, _ -> Optional.empty(), line -> write(out, line));
            out.line(Json.object().put("type", "result").put("digest", made.digest()).build());
          } catch (ImageBuilder.StepFailed e) {
            throw new AgentException.InvalidSpec(String.valueOf(e.getMessage()), e);
          }
        });
  }

  private static void write(ApiResponse.Lined out, String line) {
    try {
      out.line(Json.object().put("type", "output").put("text", line).build());
    } catch (IOException e) {
      throw new UncheckedIOException(e); // the client disconnected, which ends the build
    }
  }

  private static Map<String, String> pairs(ApiRequest call, String name) {
    var pairs = new LinkedHashMap<String, String>();
    for (String text : call.queries(name)) {
      int equals = text.indexOf('=');
      if (equals < 1) {
        throw new AgentException.InvalidSpec("%s '%s' is not NAME=value".formatted(name, text));
      }
      pairs.put(text.substring(0, equals), text.substring(equals + 1));
    }
    return pairs;
  }
}
