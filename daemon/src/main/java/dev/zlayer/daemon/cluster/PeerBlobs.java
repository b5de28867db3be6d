package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.cluster.member.NodeIdentity;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.BlobPeers;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;

/**
 * The other nodes of the cluster as places that may have content of images. Nobody is asked while
 * this node is in no cluster.
 */
final class PeerBlobs implements BlobPeers {
  /** More questions would cost more than they save: whoever has a common image is among them. */
  private static final int MOST = 16;

  /** For a question that needs no more than a look at a directory. */
  private static final Duration QUESTION = Duration.ofSeconds(2);

  private static final Duration SILENCE = Duration.ofSeconds(5);
  private static final int LARGEST = 1 << 20;

  private final Supplier<Optional<Others>> others;

  /** Those that are alive, and how they are reached. */
  record Others(List<Peer> peers, SSLContext tls) {}

  PeerBlobs(Supplier<Optional<Others>> others) {
    this.others = others;
  }

  @Override
  public List<BlobPeer> having(Set<Digest> blobs) throws InterruptedException {
    Optional<Others> now = others.get();
    if (now.isEmpty() || now.get().peers().isEmpty()) {
      return List.of();
    }
    var peers = new ArrayList<>(now.get().peers());
    Collections.shuffle(peers); // so that the same one does not serve everybody
    var tasks = new ArrayList<TaskScope.Task<Optional<BlobPeer>>>();
    try (var scope = new TaskScope("ask for content")) {
      for (Peer peer : peers.subList(0, Math.min(MOST, peers.size()))) {
        tasks.add(scope.fork(() -> ask(peer, now.get().tls(), blobs)));
      }
      scope.join();
    }
    return tasks.stream().flatMap(task -> task.result().stream()).toList();
  }

  private static Optional<BlobPeer> ask(Peer peer, SSLContext tls, Set<Digest> blobs)
      throws InterruptedException {
    List<String> wanted = blobs.stream().map(Digest::toString).toList();
    HttpRequest question =
        HttpRequest.of("POST", Peers.BASE + SharedBlobs.PATH)
            .withJson(JsonText.print(Json.object().put(SharedBlobs.DIGESTS, wanted).build()));
    try (HttpClient client = client(peer, tls);
        HttpResponse response = client.send(question, Deadline.after(QUESTION))) {
      if (!response.success()) {
        return Optional.empty(); // an agent that cannot, or may not
      }
      var has = new HashSet<Digest>();
      JsonText.parse(response.text(LARGEST)).at(SharedBlobs.DIGESTS).strings().stream()
          .map(Digest::parse)
          .forEach(has::add);
      has.retainAll(blobs);
      return has.isEmpty() ? Optional.empty() : Optional.of(new Node(peer, tls, Set.copyOf(has)));
    } catch (AgentException _) {
      return Optional.empty(); // it is as good as absent
    }
  }

  private static HttpClient client(Peer peer, SSLContext tls) {
    return HttpClient.open(new HttpAddress.Tls(peer.address(), NodeIdentity.AGENT_PORT, tls));
  }

  /** One of them. */
  private record Node(Peer peer, SSLContext tls, Set<Digest> blobs) implements BlobPeer {
    @Override
    public String name() {
      return "node '%s'".formatted(peer.name());
    }

    @Override
    public InputStream open(Digest blob, long from) throws IOException, InterruptedException {
      HttpRequest request =
          HttpRequest.get(
              "%s%s/%s?%s=%d"
                  .formatted(Peers.BASE, SharedBlobs.PATH, blob, SharedBlobs.FROM, from));
      HttpClient client = client(peer, tls);
      try {
        HttpResponse response = client.send(request, SILENCE);
        if (response.status() == 200) {
          return new Content(response, client);
        }
        try (response) {
          throw new IOException("it answered with status " + response.status());
        }
      } catch (AgentException e) {
        client.close();
        throw new IOException(e.getMessage(), e);
      } catch (IOException | InterruptedException e) {
        client.close();
        throw e;
      }
    }
  }

  /** Closing ends the connection. */
  private static final class Content extends FilterInputStream {
    private final HttpClient client;

    Content(HttpResponse response, HttpClient client) {
      super(response.body());
      this.client = client;
    }

    @Override
    public void close() throws IOException {
      try (client) {
        super.close();
      }
    }
  }
}
