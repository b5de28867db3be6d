package dev.zlayer.spec.check;

import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.storage.StorageSpec;
import dev.zlayer.spec.value.ByteSize;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A named volume that several services use has one size. */
final class VolumeCheck {
  private VolumeCheck() {}

  static void check(DeploymentSpec deployment, Findings findings) {
    Map<String, ByteSize> sizes = new HashMap<>();
    deployment
        .services()
        .forEach(
            (name, service) -> {
              List<StorageSpec> storage = service.storage();
              for (int i = 0; i < storage.size(); i++) {
                if (storage.get(i) instanceof StorageSpec.Named volume) {
                  SpecPath path = Checks.service(name).key("storage").index(i).key("size");
                  checkSize(volume, sizes, path, findings);
                }
              }
            });
  }

  private static void checkSize(
      StorageSpec.Named volume, Map<String, ByteSize> sizes, SpecPath path, Findings findings) {
    Optional<ByteSize> size = volume.size();
    if (size.isEmpty()) {
      return;
    }
    if (size.get().bytes() == 0) {
      findings.problem(path, "must be more than 0, write for example 10Gi");
    }
    ByteSize first = sizes.putIfAbsent(volume.name(), size.get());
    if (first != null && !first.equals(size.get())) {
      findings.problem(
          path,
          "the volume '%s' has the size %s elsewhere, write the same"
              .formatted(volume.name(), first));
    }
  }
}
