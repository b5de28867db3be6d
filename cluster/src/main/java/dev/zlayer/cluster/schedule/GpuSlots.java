package dev.zlayer.cluster.schedule;

import dev.zlayer.cluster.schedule.NodeFacts.Gpu;
import dev.zlayer.spec.resources.GpuSpec.Sharing;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** Who uses the GPUs of one node. A GPU has users of one kind of sharing only. */
final class GpuSlots {
  private static final String ALL = "all";

  private final List<Slot> slots = new ArrayList<>();

  private int free;

  private static final class Slot {
    final Gpu gpu;
    final String model;
    int users;
    Sharing sharing = Sharing.EXCLUSIVE;

    Slot(Gpu gpu) {
      this.gpu = gpu;
      this.model = gpu.model().toLowerCase(Locale.ROOT);
    }

    boolean takes(Demand.Gpus demand) {
      return users == 0 || (users < demand.replicasPerGpu() && sharing == demand.sharing());
    }

    boolean right(Demand.Gpus demand) {
      return gpu.vendor() == demand.vendor()
          && (demand.model().isEmpty() || model.contains(demand.model().toLowerCase(Locale.ROOT)))
          && (demand.devices().isEmpty()
              || demand.devices().contains(ALL)
              || demand.devices().contains(gpu.id())
              || (!gpu.uuid().isEmpty() && demand.devices().contains(gpu.uuid())));
    }
  }

  GpuSlots(List<Gpu> gpus) {
    gpus.forEach(gpu -> slots.add(new Slot(gpu)));
    this.free = slots.size();
  }

  /** The ids that a replica gets, those in use first where they are shared. */
  List<String> choose(Demand.Gpus demand) {
    boolean all = demand.devices().contains(ALL);
    return slots.stream()
        .filter(slot -> slot.right(demand) && slot.takes(demand))
        .sorted(Comparator.comparingInt((Slot slot) -> -slot.users))
        .limit(all ? slots.size() : count(demand))
        .map(slot -> slot.gpu.id())
        .toList();
  }

  /** Whether there is a choice; asked for every node, so it makes nothing. */
  boolean fits(Demand.Gpus demand) {
    boolean all = demand.devices().contains(ALL);
    int right = 0;
    int takes = 0;
    for (Slot slot : slots) {
      if (slot.right(demand)) {
        right++;
        takes += slot.takes(demand) ? 1 : 0;
      }
    }
    return all ? right > 0 && takes == right : takes >= count(demand);
  }

  private static int count(Demand.Gpus demand) {
    return demand.devices().isEmpty() ? demand.count() : demand.devices().size();
  }

  void take(List<String> ids, Demand.Gpus demand, int change) {
    for (Slot slot : slots) {
      if (slot.gpu.vendor() == demand.vendor() && ids.contains(slot.gpu.id())) {
        free -= slot.users == 0 ? 1 : 0;
        slot.users += change;
        slot.sharing = demand.sharing();
        free += slot.users == 0 ? 1 : 0;
      }
    }
  }

  int free() {
    return free;
  }

  int used() {
    return slots.size() - free;
  }
}
