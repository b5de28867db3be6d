package dev.zlayer.engine.s3;

import java.io.InputStream;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.AwsSessionCredentials;
import software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.checksums.RequestChecksumCalculation;
import software.amazon.awssdk.core.checksums.ResponseChecksumValidation;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3ClientBuilder;
import software.amazon.awssdk.services.s3.model.CompletedPart;
import software.amazon.awssdk.services.s3.model.HeadObjectResponse;
import software.amazon.awssdk.services.s3.model.NoSuchKeyException;
import software.amazon.awssdk.services.s3.model.S3Object;

/**
 * One bucket. Checksums are the plain old ones (MD5 with every request, entity tags of answers),
 * since every store knows those.
 */
final class S3Store implements AutoCloseable {
  private static final Duration CONNECT = Duration.ofSeconds(10);
  private static final Duration SILENCE = Duration.ofSeconds(60);

  private final S3Location location;
  private final S3Client client;

  private S3Store(S3Location location, S3Client client) {
    this.location = location;
    this.client = client;
  }

  static S3Store open(S3Location location) {
    S3ClientBuilder builder =
        S3Client.builder()
            .httpClientBuilder(
                UrlConnectionHttpClient.builder().connectionTimeout(CONNECT).socketTimeout(SILENCE))
            .credentialsProvider(credentials(location))
            .requestChecksumCalculation(RequestChecksumCalculation.WHEN_REQUIRED)
            .responseChecksumValidation(ResponseChecksumValidation.WHEN_REQUIRED);
    location
        .endpoint()
        .ifPresent(text -> builder.endpointOverride(URI.create(text)).forcePathStyle(true));
    location
        .region()
        .or(() -> location.endpoint().map(_ -> "us-east-1"))
        .ifPresent(name -> builder.region(Region.of(name)));
    try {
      return new S3Store(location, builder.build());
    } catch (SdkException e) {
      throw S3Failure.of("bucket " + location.bucket(), e);
    }
  }

  String bucket() {
    return location.bucket();
  }

  /** Empty when there is no such object. */
  Optional<HeadObjectResponse> head(String key) {
    return asked(
        key,
        () -> {
          try {
            return Optional.of(client.headObject(request -> request.bucket(bucket()).key(key)));
          } catch (NoSuchKeyException _) {
            return Optional.empty();
          }
        });
  }

  /** Everything below a prefix, page by page while it is read. */
  Stream<S3Object> list(String prefix) {
    return asked(
        prefix,
        () ->
            client
                .listObjectsV2Paginator(request -> request.bucket(bucket()).prefix(prefix))
                .contents()
                .stream());
  }

  /** The object from a byte on, provided that it is still the same. */
  InputStream read(String key, long from, String entityTag) {
    return asked(
        key,
        () ->
            client.getObject(
                request -> {
                  request.bucket(bucket()).key(key).ifMatch(entityTag);
                  if (from > 0) {
                    request.range("bytes=" + from + "-");
                  }
                }));
  }

  void put(String key, Part content) {
    asked(
        key,
        () ->
            client.putObject(
                request -> request.bucket(bucket()).key(key).contentMD5(content.md5()),
                content.body()));
  }

  String begin(String key, long partSize) {
    return asked(
        key,
        () ->
            client
                .createMultipartUpload(
                    request ->
                        request
                            .bucket(bucket())
                            .key(key)
                            .metadata(
                                java.util.Map.of(Integrity.PART_SIZE, Long.toString(partSize))))
                .uploadId());
  }

  CompletedPart part(String key, String upload, int number, Part content) {
    return asked(
        key,
        () -> {
          String tag =
              client
                  .uploadPart(
                      request ->
                          request
                              .bucket(bucket())
                              .key(key)
                              .uploadId(upload)
                              .partNumber(number)
                              .contentMD5(content.md5()),
                      content.body())
                  .eTag();
          return CompletedPart.builder().partNumber(number).eTag(tag).build();
        });
  }

  void complete(String key, String upload, List<CompletedPart> parts) {
    asked(
        key,
        () ->
            client.completeMultipartUpload(
                request ->
                    request
                        .bucket(bucket())
                        .key(key)
                        .uploadId(upload)
                        .multipartUpload(all -> all.parts(parts))));
  }

  /** Parts that were sent cost money until they are given up. */
  void abort(String key, String upload) {
    asked(
        key,
        () ->
            client.abortMultipartUpload(
                request -> request.bucket(bucket()).key(key).uploadId(upload)));
  }

  void copy(String from, String to) {
    asked(
        to,
        () ->
            client.copyObject(
                request ->
                    request
                        .sourceBucket(bucket())
                        .sourceKey(from)
                        .destinationBucket(bucket())
                        .destinationKey(to)));
  }

  @Override
  public void close() {
    client.close();
  }

  <T> T asked(String key, Supplier<T> request) {
    try {
      return request.get();
    } catch (SdkException e) {
      throw S3Failure.of("s3://%s/%s".formatted(bucket(), key), e);
    }
  }

  /** Bytes in memory, so that a request can be sent again. */
  @SuppressWarnings("ArrayRecordComponent") // a buffer on its way out; nobody compares parts
  record Part(byte[] bytes, int length) {
    RequestBody body() {
      return RequestBody.fromContentProvider(
          () -> new java.io.ByteArrayInputStream(bytes, 0, length),
          length,
          "application/octet-stream");
    }

    String md5() {
      return java.util.Base64.getEncoder().encodeToString(Integrity.md5(bytes, length));
    }
  }

  private static AwsCredentialsProvider credentials(S3Location location) {
    return location
        .keys()
        .<AwsCredentialsProvider>map(keys -> StaticCredentialsProvider.create(fixed(keys)))
        .orElseGet(() -> DefaultCredentialsProvider.builder().build());
  }

  private static AwsCredentials fixed(S3Location.Keys keys) {
    return keys.sessionToken()
        .<AwsCredentials>map(
            token -> AwsSessionCredentials.create(keys.accessKey(), keys.secretKey(), token))
        .orElseGet(() -> AwsBasicCredentials.create(keys.accessKey(), keys.secretKey()));
  }
}
