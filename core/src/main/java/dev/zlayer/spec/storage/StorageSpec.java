package dev.zlayer.spec.storage;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Tagged;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.value.ByteSize;
import dev.zlayer.spec.value.SecretRef;
import java.util.Optional;

/** Something mounted into the container. */
@Doc("A mount, selected by type.")
@Tagged(by = "type")
public sealed interface StorageSpec {
  /** Where it appears in the container. */
  String target();

  /** A file or directory of the machine. */
  @Doc("A file or directory of the host.")
  record Bind(
      @Doc("Host path; a relative one is resolved against the deployment file's directory.")
          @Text(pattern = ".+", write = "a path")
          String source,
      @Doc("Path in the container.") String target,
      @Doc("Mount read-only.") @Default("false") boolean readonly)
      implements StorageSpec {}

  /** A volume that outlives containers and deployments. */
  @Doc("A named volume; it outlives containers and deployments.")
  record Named(
      @Doc("Name of the volume.")
          @Text(
              pattern = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?",
              write = "at most 63 lower case letters, digits and hyphens")
          String name,
      @Doc("Path in the container.") String target,
      @Doc("Mount read-only.") @Default("false") boolean readonly,
      @Doc("Storage tier.") @Default("local") StorageTier tier,
      @Doc("Size limit.") Optional<ByteSize> size)
      implements StorageSpec {}

  /** A volume that goes with its container. */
  @Doc("A volume that is removed with its container.")
  record Anonymous(
      @Doc("Path in the container.") String target,
      @Doc("Storage tier.") @Default("local") StorageTier tier)
      implements StorageSpec {}

  /** Memory. */
  @Doc("A tmpfs that is removed with its container.")
  record Tmpfs(
      @Doc("Path in the container.") String target,
      @Doc("Size limit.") Optional<ByteSize> size,
      @Doc("Mode in octal, e.g. 0o1777.") @Range(min = 0, max = 4095) Optional<Integer> mode)
      implements StorageSpec {}

  /** A bucket. */
  @Doc(
      "A copy of a bucket of an S3 object store: downloaded before the start and, for jobs, "
          + "uploaded after the exit.")
  record S3(
      @Doc("Bucket.") @Text(pattern = "[a-z0-9.-]{3,63}", write = "a bucket name") String bucket,
      @Doc("Prefix (default: the whole bucket).") Optional<String> prefix,
      @Doc("Path in the container.") String target,
      @Doc("Mount read-only and upload nothing; required for services.") @Default("false")
          boolean readonly,
      @Doc("Endpoint of the object store (default: Amazon S3).")
          @Text(pattern = "https?://\\S+", write = "an address such as https://s3.example.org")
          Optional<String> endpoint,
      @Doc("Region.") Optional<String> region,
      @Doc(
              "Name of a secret: a JSON object with access_key, secret_key and optionally "
                  + "session_token (default: from the agent's environment).")
          Optional<SecretRef> credentials)
      implements StorageSpec {}
}
