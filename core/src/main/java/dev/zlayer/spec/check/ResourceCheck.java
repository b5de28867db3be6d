package dev.zlayer.spec.check;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.resources.ResourcesSpec;
import dev.zlayer.spec.value.ByteSize;
import java.util.Optional;

/** Limits that contradict each other. */
final class ResourceCheck {
  private static final ByteSize LEAST_MEMORY = ByteSize.parse("4Mi");

  private ResourceCheck() {}

  static void check(ServiceSpec service, SpecPath servicePath, Findings findings) {
    check(service.resources(), servicePath.key("resources"), findings);
    var groups = service.lifecycle().replicaGroups();
    for (int i = 0; i < groups.size(); i++) {
      SpecPath path = servicePath.key("replica_groups").index(i).key("resources");
      groups.get(i).resources().ifPresent(resources -> check(resources, path, findings));
    }
  }

  private static void check(ResourcesSpec resources, SpecPath path, Findings findings) {
    Optional<ByteSize> memory = resources.memory();
    if (memory.isPresent() && memory.get().compareTo(LEAST_MEMORY) < 0) {
      findings.problem(
          path.key("memory"),
          "%s is too little to start anything, write for example 512Mi".formatted(memory.get()));
    }
    if (!findings.clean(path.key("memory"))) {
      return;
    }
    resources.memorySwap().ifPresent(swap -> checkSwap(swap, memory, path, findings));
    if (memory.isPresent()
        && resources.memoryReservation().filter(r -> r.compareTo(memory.get()) > 0).isPresent()) {
      findings.problem(
          path.key("memory_reservation"), "is more than memory, write at most " + memory.get());
    }
    if (resources.oomKillDisable().orElse(false) && memory.isEmpty()) {
      findings.problem(
          path.key("oom_kill_disable"),
          "without a memory limit could stop the whole machine, write 'memory' too");
    }
    if (resources.pidsLimit().filter(limit -> limit == 0).isPresent()) {
      findings.problem(
          path.key("pids_limit"), "0 would allow no process at all, write -1 for no limit");
    }
  }

  private static void checkSwap(
      ResourcesSpec.SwapLimit swap, Optional<ByteSize> memory, SpecPath path, Findings findings) {
    if (memory.isEmpty()) {
      findings.problem(
          path.key("memory_swap"), "needs a memory limit beside it, write 'memory' too");
    } else if (swap.size().isPresent() && swap.size().get().compareTo(memory.get()) < 0) {
      findings.problem(
          path.key("memory_swap"),
          "counts memory and swap together and is less than memory, write at least "
              + memory.get());
    }
  }
}
