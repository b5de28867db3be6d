package dev.zlayer.spec.resources;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Named;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.value.ByteSize;
import java.util.List;
import java.util.Optional;

/** Graphics processors of one replica. */
@Doc("GPUs of each replica.")
public record GpuSpec(
    @Doc("Number of GPUs.") @Default("1") @Range(min = 1, max = 64) int count,
    @Doc("Vendor.") @Default("nvidia") Vendor vendor,
    @Doc("mps is another way to write sharing: mps; native and vm are for macOS.")
        Optional<Mode> mode,
    @Doc("Part of the model's name.") Optional<String> model,
    @Doc("Names instead of a number: indexes, UUIDs, MIG devices such as 0:1; or all.")
        @Text(pattern = "[0-9A-Za-z][0-9A-Za-z:._-]*", write = "an index, a UUID or all")
        Optional<List<String>> devices,
    @Doc("How several are chosen; gang is all or nothing.") Optional<Scheduling> scheduling,
    @Doc("Settings for training on several replicas.") Optional<Distributed> distributed,
    @Doc("How a GPU is shared.") Optional<Sharing> sharing,
    @Doc("Pipes of an MPS daemon of your own (default: one at /tmp/nvidia-mps, or the agent's).")
        @Text(pattern = "/.*", write = "an absolute path")
        Optional<String> mpsPipeDir,
    @Doc("Directory of the logs of that daemon (default: /tmp/nvidia-log).")
        @Text(pattern = "/.*", write = "an absolute path")
        Optional<String> mpsLogDir,
    @Doc("Memory limit of each process on each GPU; with sharing: mps.")
        Optional<ByteSize> mpsMemory,
    @Doc("Percentage of the multiprocessors for each process; with sharing: mps.")
        @Range(min = 1, max = 100)
        Optional<Integer> mpsThreads,
    @Doc("Which time slice to use.") @Range(min = 0) Optional<Integer> timeSliceIndex,
    @Doc("File with the time slicing settings.") @Text(pattern = "/.*", write = "an absolute path")
        Optional<String> timeSlicingConfigPath,
    @Doc("How long each process computes before the next; with sharing: time-slice.")
        Optional<TimeSlice> timeSlice) {
  public enum Vendor {
    NVIDIA,
    AMD,
    INTEL,
    APPLE,
    OTHER
  }

  public enum Mode {
    NATIVE,
    VM,
    MPS
  }

  /** Without what chooses nodes, and what replicas on several of them are given. */
  GpuSpec placed() {
    return new GpuSpec(
        count,
        vendor,
        mode,
        model,
        devices,
        Optional.empty(),
        Optional.empty(),
        sharing,
        mpsPipeDir,
        mpsLogDir,
        mpsMemory,
        mpsThreads,
        timeSliceIndex,
        timeSlicingConfigPath,
        timeSlice);
  }

  /** How it is shared, however that is written. */
  public Optional<Sharing> effectiveSharing() {
    return mode.filter(Mode.MPS::equals).map(_ -> Sharing.MPS).or(() -> sharing);
  }

  public enum Scheduling {
    @Named("best-effort")
    BEST_EFFORT,
    GANG,
    SPREAD
  }

  public enum Sharing {
    EXCLUSIVE,
    MPS,
    @Named("time-slice")
    TIME_SLICE
  }

  public enum TimeSlice {
    DEFAULT,
    SHORT,
    MEDIUM,
    LONG
  }

  public enum Backend {
    NCCL,
    GLOO,
    MPI
  }

  /** How replicas of a training find each other. */
  @Doc("How the replicas of a training find each other.")
  public record Distributed(
      @Doc("Communication library.") @Default("nccl") Backend backend,
      @Doc("Port of the first replica.") @Default("29500") @Range(min = 1, max = 65_535)
          int masterPort) {}
}
