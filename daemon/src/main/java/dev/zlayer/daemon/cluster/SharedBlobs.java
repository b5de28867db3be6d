package dev.zlayer.daemon.cluster;

import dev.zlayer.daemon.http.AccessDenied;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.error.AgentException;
import dev.zlayer.image.LocalImages;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Gives content of images to other nodes of the cluster, to a few at a time: whoever is refused
 * asks another node or the registry.
 */
final class SharedBlobs {
  /** Below the API of the listener for nodes. */
  static final String PATH = "/cluster/blobs";

  /** Key of a question and of its answer. */
  static final String DIGESTS = "digests";

  static final String FROM = "from";

  /** At a time; one fast disk or network is used up by fewer. */
  static final int MOST = 8;

  /** Longer than who asks waits: it has left, or its machine stands still. */
  private static final Duration SILENCE = Duration.ofSeconds(30);

  private static final int BUFFER = 128 << 10;

  private final LocalImages images;
  private final List<Serving> servings = new ArrayList<>(); // guarded by this

  /** One blob on its way to a node. All fields are guarded by the object around. */
  private static final class Serving {
    private Deadline patience = Deadline.after(SILENCE);
    private @Nullable Thread writer;
  }

  SharedBlobs(LocalImages images) {
    this.images = images;
  }

  /** For the listener of nodes only. */
  List<Route> routes() {
    return List.of(
        Route.post(PATH, "Which of these blobs are here.", this::having),
        Route.get(PATH + "/{digest}", "The content of a blob.", this::content));
  }

  private ApiResponse having(ApiRequest call) {
    List<String> here =
        JsonText.parse(call.wholeBody()).at(DIGESTS).strings().stream()
            .map(Digest::parse)
            .filter(images::hasBlob)
            .map(Digest::toString)
            .toList();
    return ApiResponse.json(Json.object().put(DIGESTS, here).build());
  }

  private ApiResponse content(ApiRequest call) {
    Digest digest = Digest.parse(call.path("digest"));
    long from = from(call);
    if (!images.hasBlob(digest)) {
      throw absent(digest);
    }
    Serving serving = begin();
    return new ApiResponse.Bytes(
        "application/octet-stream",
        Map.of(),
        out -> {
          started(serving);
          try (InputStream in = images.openBlob(digest).orElseThrow(() -> absent(digest))) {
            in.skipNBytes(from);
            copy(in, out, serving);
          } finally {
            end(serving);
          }
        });
  }

  private static AgentException.NotFound absent(Digest digest) {
    return new AgentException.NotFound("blob " + digest, "this node does not have it");
  }

  private static long from(ApiRequest call) {
    String text = call.query(FROM).orElse("0");
    if (!text.matches("[0-9]{1,18}")) {
      throw AccessDenied.malformed(
          "the parameter '%s' is a whole number from 0, not '%s'".formatted(FROM, text));
    }
    return Long.parseLong(text);
  }

  private void copy(InputStream in, OutputStream out, Serving serving) throws IOException {
    var buffer = new byte[BUFFER];
    for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
      out.write(buffer, 0, count);
      heard(serving);
    }
  }

  /** Those that make no progress any more have to make room. */
  private synchronized Serving begin() {
    if (servings.size() >= MOST) {
      servings.removeIf(SharedBlobs::ended);
    }
    if (servings.size() >= MOST) {
      throw new AgentException.Unavailable(
          "this node gives content to %d others at the moment".formatted(MOST));
    }
    var serving = new Serving();
    servings.add(serving);
    return serving;
  }

  private static boolean ended(Serving serving) {
    boolean silent = serving.patience.passed();
    Thread writer = serving.writer;
    if (silent && writer != null) {
      writer.interrupt();
    }
    return silent;
  }

  private synchronized void started(Serving serving) {
    serving.writer = Thread.currentThread();
    serving.patience = Deadline.after(SILENCE);
  }

  private synchronized void heard(Serving serving) {
    serving.patience = Deadline.after(SILENCE);
  }

  private synchronized void end(Serving serving) {
    serving.writer = null;
    servings.remove(serving);
  }
}
