package dev.zlayer.spec.storage;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Tagged;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.value.ByteSize;
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
  @Doc("A bucket of a store that speaks S3.")
  record S3(
      @Doc("Bucket.") @Text(pattern = "[a-z0-9.-]{3,63}", write = "a bucket name") String bucket,
      @Doc("Only what begins with this.") Optional<String> prefix,
      @Doc("Path in the container.") String target,
      @Doc("Whether it can only be read.") @Default("false") boolean readonly,
      @Doc("Address of the store, when it is not Amazon's.") Optional<String> endpoint,
      @Doc("Name of a secret with the keys.") Optional<String> credentials)
      implements StorageSpec {}
}
