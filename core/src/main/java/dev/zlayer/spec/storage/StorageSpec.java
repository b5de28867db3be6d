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
@Doc("Something mounted into the container, chosen by type.")
@Tagged(by = "type")
public sealed interface StorageSpec {
  /** Where it appears in the container. */
  String target();

  /** A file or directory of the machine. */
  @Doc("A file or directory of the machine.")
  record Bind(
      @Doc("Path on the machine; a relative one starts at the deployment file.")
          @Text(pattern = ".+", write = "a path")
          String source,
      @Doc("Path in the container.") String target,
      @Doc("Whether it can only be read.") @Default("false") boolean readonly)
      implements StorageSpec {}

  /** A volume that outlives containers and deployments. */
  @Doc("A volume with a name; it outlives containers and deployments.")
  record Named(
      @Doc("Name of the volume.")
          @Text(
              pattern = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?",
              write = "at most 63 lower case letters, digits and hyphens")
          String name,
      @Doc("Path in the container.") String target,
      @Doc("Whether it can only be read.") @Default("false") boolean readonly,
      @Doc("What kind of disk it lies on.") @Default("local") StorageTier tier,
      @Doc("Most that fits in.") Optional<ByteSize> size)
      implements StorageSpec {}

  /** A volume that goes with its container. */
  @Doc("A volume that goes with its container.")
  record Anonymous(
      @Doc("Path in the container.") String target,
      @Doc("What kind of disk it lies on.") @Default("local") StorageTier tier)
      implements StorageSpec {}

  /** Memory. */
  @Doc("Memory that goes with its container.")
  record Tmpfs(
      @Doc("Path in the container.") String target,
      @Doc("Most that fits in.") Optional<ByteSize> size,
      @Doc("Permissions as a number; write them in octal: 0o1777.") @Range(min = 0, max = 4095)
          Optional<Integer> mode)
      implements StorageSpec {}

  /** A bucket. */
  @Doc(
      "A copy of a bucket of a store that speaks S3: pulled before the start and, for jobs, pushed"
          + " back after the end.")
  record S3(
      @Doc("Bucket.") @Text(pattern = "[a-z0-9.-]{3,63}", write = "a bucket name") String bucket,
      @Doc("Only what is below this; the whole bucket when absent.") Optional<String> prefix,
      @Doc("Path in the container.") String target,
      @Doc("Whether it can only be read, and nothing is pushed back; services need it.")
          @Default("false")
          boolean readonly,
      @Doc("Address of the store, when it is not Amazon's.")
          @Text(pattern = "https?://\\S+", write = "an address such as https://s3.example.org")
          Optional<String> endpoint,
      @Doc("Region.") Optional<String> region,
      @Doc(
              "Name of a secret: a JSON object with access_key, secret_key and perhaps"
                  + " session_token; from the agent's environment when absent.")
          Optional<SecretRef> credentials)
      implements StorageSpec {}
}
