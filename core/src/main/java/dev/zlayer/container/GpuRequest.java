package dev.zlayer.container;

import dev.zlayer.json.StoredName;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * GPUs wanted by a container; never silently left out.
 *
 * @param count how many; not looked at where devices are named
 * @param vendor {@code nvidia}, {@code amd}, {@code intel}, {@code apple} or {@code other}
 * @param model part of the model's name, any case
 * @param devices names of devices, such as {@code 0}, {@code 0:1}, a UUID, or {@link #ALL} alone
 */
public record GpuRequest(
    int count, String vendor, Optional<String> model, List<String> devices, Sharing sharing) {
  /** Every device that fits. */
  public static final String ALL = "all";

  public GpuRequest {
    devices = List.copyOf(devices);
  }

  /** A number of devices, whichever. */
  public GpuRequest(int count, String vendor, Optional<String> model, Sharing sharing) {
    this(count, vendor, model, List.of(), sharing);
  }

  /** The same, of these devices alone. */
  public GpuRequest of(List<String> chosen) {
    return new GpuRequest(count, vendor, model, chosen, sharing);
  }

  public boolean all() {
    return devices.equals(List.of(ALL));
  }

  /** Who else may use the same GPU. */
  public sealed interface Sharing {
    @StoredName("Exclusive")
    record Exclusive() implements Sharing {}

    /**
     * Through an MPS daemon: the one whose directories are given, which both have to exist; without
     * them one that answers at the usual place, or that of the agent.
     *
     * @param memoryBytes what each process may allocate on each device
     * @param threadPercent share of the multiprocessors that each process sees
     */
    @StoredName("Mps")
    record Mps(
        Optional<Path> pipeDir,
        Optional<Path> logDir,
        OptionalLong memoryBytes,
        OptionalInt threadPercent)
        implements Sharing {}

    /** In turns with others: which device, the plan file to show inside, how long a turn is. */
    @StoredName("TimeSlice")
    record TimeSlice(OptionalInt index, Optional<Path> configFile, Optional<Turn> turn)
        implements Sharing {}

    /** How long the driver lets one process compute before the next; in its own steps. */
    enum Turn {
      DEFAULT,
      SHORT,
      MEDIUM,
      LONG
    }

    /** As people write it. */
    default String word() {
      return switch (this) {
        case Exclusive _ -> "exclusive";
        case Mps _ -> "mps";
        case TimeSlice _ -> "time-slice";
      };
    }
  }
}
