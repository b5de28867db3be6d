package dev.zlayer.engine.translate;

import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.storage.StorageSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** What is mounted. */
final class StorageSection {
  private StorageSection() {}

  static FileSystemSpec of(ServiceSpec service, Path directory, List<Mount> secrets) {
    var mounts = new ArrayList<>(secrets);
    for (StorageSpec storage : service.storage()) {
      switch (storage) {
        case StorageSpec.Bind(String source, String target, boolean readOnly) ->
            mounts.add(new Mount.Bind(directory.resolve(source).normalize(), target, readOnly));
        case StorageSpec.Named(var name, var target, var readOnly, _, _) ->
            mounts.add(new Mount.Named(name, target, readOnly));
        case StorageSpec.Anonymous(String target, _) -> mounts.add(new Mount.Anonymous(target));
        case StorageSpec.Tmpfs(var target, var size, var mode) ->
            mounts.add(
                new Mount.Tmpfs(
                    target,
                    size.map(bytes -> OptionalLong.of(bytes.bytes())).orElse(OptionalLong.empty()),
                    mode.map(OptionalInt::of).orElse(OptionalInt.empty())));
        case StorageSpec.S3 bucket ->
            mounts.add(new Mount.Supplied(bucket.target(), bucket.readonly()));
      }
    }
    return new FileSystemSpec(mounts, service.security().readOnlyRootFs());
  }
}
