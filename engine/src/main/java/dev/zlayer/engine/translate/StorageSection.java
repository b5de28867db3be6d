package dev.zlayer.engine.translate;

import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.storage.StorageSpec;
import dev.zlayer.spec.storage.StorageTier;
import dev.zlayer.spec.value.SecretRef;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** What is mounted. */
final class StorageSection {
  private static final String ONE_TIER = "all volumes lie on the local disk";

  private static final String SIZE =
      "directories cannot be limited in size, remove it or bind a disk of that size";

  private StorageSection() {}

  static FileSystemSpec of(
      ServiceSpec service, Path directory, List<Mount> secrets, Refusals refusals) {
    var mounts = new ArrayList<>(secrets);
    for (int i = 0; i < service.storage().size(); i++) {
      String path = "storage[%d]".formatted(i);
      switch (service.storage().get(i)) {
        case StorageSpec.Bind(String source, String target, boolean readOnly) ->
            mounts.add(new Mount.Bind(directory.resolve(source).normalize(), target, readOnly));
        case StorageSpec.Named(var name, var target, var readOnly, var tier, var size) -> {
          refusals.addIf(tier != StorageTier.LOCAL, path + ".tier", ONE_TIER);
          refusals.addIf(size.isPresent(), path + ".size", SIZE);
          mounts.add(new Mount.Named(name, target, readOnly));
        }
        case StorageSpec.Anonymous(String target, StorageTier tier) -> {
          refusals.addIf(tier != StorageTier.LOCAL, path + ".tier", ONE_TIER);
          mounts.add(new Mount.Anonymous(target));
        }
        case StorageSpec.Tmpfs(var target, var size, var mode) ->
            mounts.add(
                new Mount.Tmpfs(
                    target,
                    size.map(bytes -> OptionalLong.of(bytes.bytes())).orElse(OptionalLong.empty()),
                    mode.map(OptionalInt::of).orElse(OptionalInt.empty())));
        case StorageSpec.S3 bucket -> {
          bucket(service, bucket, path, refusals);
          mounts.add(new Mount.Supplied(bucket.target(), bucket.readonly()));
        }
      }
    }
    return new FileSystemSpec(mounts, service.security().readOnlyRootFs());
  }

  private static void bucket(
      ServiceSpec service, StorageSpec.S3 bucket, String path, Refusals refusals) {
    refusals.addIf(
        !bucket.readonly() && service.rtype() == RunType.SERVICE,
        path + ".readonly",
        "copies of replicas would overwrite each other in the bucket, write readonly: true");
    refusals.addIf(
        bucket.credentials().flatMap(SecretRef::field).isPresent(),
        path + ".credentials",
        "name the whole secret, with the fields access_key and secret_key");
  }
}
