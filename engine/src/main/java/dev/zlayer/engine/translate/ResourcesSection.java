package dev.zlayer.engine.translate;

import dev.zlayer.container.Resources;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.resources.ResourcesSpec;
import dev.zlayer.spec.security.UlimitSpec;
import dev.zlayer.spec.value.ByteSize;
import dev.zlayer.spec.value.CpuSet;
import java.util.LinkedHashMap;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** Limits and weights. */
final class ResourcesSection {
  private static final long UNLIMITED = -1;

  private ResourcesSection() {}

  static Resources of(ServiceSpec service) {
    ResourcesSpec spec = service.resources();
    var ulimits = new LinkedHashMap<String, Resources.Ulimit>();
    service.security().ulimits().forEach((name, limit) -> ulimits.put(name, ulimit(limit)));
    return new Resources(
        spec.cpu().map(OptionalDouble::of).orElse(OptionalDouble.empty()),
        spec.cpuShares().map(OptionalLong::of).orElse(OptionalLong.empty()),
        spec.cpuset().map(CpuSet::text),
        bytes(spec.memory()),
        spec.memorySwap()
            .map(swap -> OptionalLong.of(swap.size().map(ByteSize::bytes).orElse(UNLIMITED)))
            .orElse(OptionalLong.empty()),
        bytes(spec.memoryReservation()),
        number(spec.memorySwappiness()),
        pids(spec.pidsLimit()),
        number(spec.oomScoreAdj()),
        spec.oomKillDisable().orElse(false),
        number(spec.blkioWeight()),
        ulimits,
        service.security().cgroupParent());
  }

  private static OptionalLong pids(Optional<Long> limit) {
    return limit
        .map(pids -> pids == UNLIMITED ? OptionalLong.empty() : OptionalLong.of(pids))
        .orElse(Resources.DEFAULT.pids());
  }

  private static Resources.Ulimit ulimit(UlimitSpec spec) {
    long soft = spec.soft().or(spec::hard).orElse(UNLIMITED);
    return new Resources.Ulimit(soft, spec.hard().orElse(soft));
  }

  private static OptionalLong bytes(Optional<ByteSize> size) {
    return size.map(bytes -> OptionalLong.of(bytes.bytes())).orElse(OptionalLong.empty());
  }

  private static OptionalInt number(Optional<Integer> number) {
    return number.map(OptionalInt::of).orElse(OptionalInt.empty());
  }
}
