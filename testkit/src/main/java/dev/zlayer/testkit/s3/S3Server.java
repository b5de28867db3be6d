package dev.zlayer.testkit.s3;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.util.List;
import org.gaul.s3proxy.S3Proxy;
import org.gaul.s3proxy.auth.AuthenticationType;
import org.gaul.s3proxy.blobstore.BlobStore;
import org.gaul.s3proxy.nio2blob.TransientNio2BlobStore;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.S3Object;

/** A real server on loopback that checks signatures; its buckets are in memory. */
public final class S3Server implements AutoCloseable {
  public static final String ACCESS_KEY = "access";
  public static final String SECRET_KEY = "a-secret-that-nobody-sees";

  private final BlobStore store = new TransientNio2BlobStore();
  private final S3Proxy server;

  private S3Server(String bucket) {
    var _ = store.createContainer(bucket);
    server =
        S3Proxy.builder()
            .blobStore(store)
            .endpoint(URI.create("http://127.0.0.1:0"))
            .awsAuthentication(AuthenticationType.AWS_V4, ACCESS_KEY, SECRET_KEY)
            .build();
  }

  /** Serves one empty bucket. */
  public static S3Server open(String bucket) throws Exception {
    var opened = new S3Server(bucket);
    opened.server.start();
    return opened;
  }

  public int port() {
    return server.getPort();
  }

  public String endpoint() {
    return "http://127.0.0.1:" + port();
  }

  /** Puts an object there without asking the server. */
  public void put(String bucket, String key, byte[] content) {
    var _ =
        store.putBlob(
            PutObjectRequest.builder()
                .bucket(bucket)
                .key(key)
                .contentLength((long) content.length)
                .build(),
            new ByteArrayInputStream(content));
  }

  public byte[] content(String bucket, String key) throws IOException {
    try (var stream = store.getBlob(bucket, key)) {
      return stream.readAllBytes();
    }
  }

  public List<String> keys(String bucket) {
    return store.list(bucket).contents().stream().map(S3Object::key).sorted().toList();
  }

  /** How many uploads in parts were begun and neither finished nor given up. */
  public int unfinishedUploads(String bucket) {
    return store.listMultipartUploads(bucket).size();
  }

  @Override
  public void close() throws Exception {
    server.stop();
  }
}
