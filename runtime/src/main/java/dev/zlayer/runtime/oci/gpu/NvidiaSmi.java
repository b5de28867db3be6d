package dev.zlayer.runtime.oci.gpu;

import dev.zlayer.container.GpuRequest.Sharing.Turn;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/** What the driver's own program says about GPUs and the processes on them. */
final class NvidiaSmi {
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final long MEBIBYTE = 1L << 20;

  /**
   * What one process uses of all GPUs.
   *
   * @param percent of the multiprocessors' time; absent where the driver does not count it by
   *     process, as for clients of MPS
   */
  record ProcessUse(long memoryBytes, OptionalDouble percent) {}

  /** What one GPU is doing. */
  record GpuUse(
      String uuid,
      OptionalLong memoryBytes,
      OptionalLong memoryUsedBytes,
      OptionalDouble percent) {}

  private final Path program;
  private final Map<String, String> env;

  /** {@code env} is where its libraries are that the loader may not know. */
  NvidiaSmi(Path program, Map<String, String> env) {
    this.program = program;
    this.env = Map.copyOf(env);
  }

  /** By the numbers that processes have on this host. */
  Map<Long, ProcessUse> processes() throws InterruptedException {
    CommandResult memory =
        run("--query-compute-apps=pid,used_gpu_memory", "--format=csv,noheader,nounits");
    CommandResult load = run("pmon", "-c", "1", "-s", "u");
    return processes(memory.success() ? memory.stdout() : "", load.success() ? load.stdout() : "");
  }

  static Map<Long, ProcessUse> processes(String memory, String load) {
    Map<Long, OptionalDouble> percents = percents(load);
    var uses = new HashMap<Long, ProcessUse>();
    for (String line : memory.lines().toList()) {
      String[] cells = line.split(",", -1);
      OptionalDouble pid = number(cells[0]);
      if (cells.length == 2 && pid.isPresent()) {
        long process = (long) pid.getAsDouble();
        uses.merge(
            process,
            new ProcessUse(
                (long) (number(cells[1]).orElse(0) * MEBIBYTE),
                percents.getOrDefault(process, OptionalDouble.empty())),
            (a, b) -> new ProcessUse(a.memoryBytes() + b.memoryBytes(), a.percent()));
      }
    }
    percents.forEach((process, percent) -> uses.putIfAbsent(process, new ProcessUse(0, percent)));
    return uses;
  }

  List<GpuUse> gpus() throws InterruptedException {
    CommandResult answer =
        run(
            "--query-gpu=uuid,memory.total,memory.used,utilization.gpu",
            "--format=csv,noheader,nounits");
    return answer.success() ? gpus(answer.stdout()) : List.of();
  }

  static List<GpuUse> gpus(String text) {
    var gpus = new ArrayList<GpuUse>();
    for (String line : text.lines().toList()) {
      String[] cells = line.split(",", -1);
      if (cells.length == 4) {
        gpus.add(new GpuUse(cells[0].strip(), bytes(cells[1]), bytes(cells[2]), number(cells[3])));
      }
    }
    return gpus;
  }

  /** How long a process computes on that GPU before the next; needs the rights of root. */
  void timeSlice(String gpu, Turn turn) throws InterruptedException {
    int step =
        switch (turn) {
          case DEFAULT -> 0;
          case SHORT -> 1;
          case MEDIUM -> 2;
          case LONG -> 3;
        };
    CommandResult result = run("compute-policy", "-i", gpu, "--set-timeslice=" + step);
    if (!result.success()) {
      String said = result.stdout().strip() + " " + result.stderr().strip();
      throw new AgentException.GpuSharingUnavailable(
          "time-slice",
          "nvidia-smi cannot set the time slice of GPU %s: %s".formatted(gpu, said.strip()));
    }
  }

  /** Columns are found by their names: later drivers have more of them. */
  private static Map<Long, OptionalDouble> percents(String load) {
    var percents = new HashMap<Long, OptionalDouble>();
    int pidColumn = -1;
    int typeColumn = -1;
    int loadColumn = -1;
    for (String line : load.lines().toList()) {
      List<String> cells = List.of(line.replaceFirst("^\\s*#", "").strip().split("\\s+"));
      if (cells.contains("pid") && cells.contains("sm")) {
        pidColumn = cells.indexOf("pid");
        typeColumn = cells.indexOf("type");
        loadColumn = cells.indexOf("sm");
      } else if (pidColumn >= 0 && cells.size() > Math.max(pidColumn, loadColumn)) {
        // of a client of MPS nothing is counted; any other without a figure does nothing
        boolean counted = typeColumn < 0 || !cells.get(typeColumn).contains("M");
        OptionalDouble percent =
            counted
                ? OptionalDouble.of(number(cells.get(loadColumn)).orElse(0))
                : OptionalDouble.empty();
        number(cells.get(pidColumn))
            .ifPresent(pid -> percents.merge((long) pid, percent, NvidiaSmi::sum));
      }
    }
    return percents;
  }

  private static OptionalDouble sum(OptionalDouble a, OptionalDouble b) {
    return a.isPresent() && b.isPresent()
        ? OptionalDouble.of(a.getAsDouble() + b.getAsDouble())
        : a.isPresent() ? a : b;
  }

  private static OptionalLong bytes(String mebibytes) {
    OptionalDouble number = number(mebibytes);
    return number.isPresent()
        ? OptionalLong.of((long) (number.getAsDouble() * MEBIBYTE))
        : OptionalLong.empty();
  }

  private static OptionalDouble number(String text) {
    String plain = text.strip();
    return plain.matches("[0-9]{1,12}(\\.[0-9]{1,6})?")
        ? OptionalDouble.of(Double.parseDouble(plain))
        : OptionalDouble.empty();
  }

  private CommandResult run(String... arguments) throws InterruptedException {
    var command = new ArrayList<>(List.of(program.toString()));
    command.addAll(List.of(arguments));
    return Processes.run(Command.of(command).withEnv(env), Deadline.after(LIMIT));
  }

  static Optional<NvidiaSmi> of(GpuCatalog catalog) {
    return catalog
        .driver()
        .flatMap(
            driver ->
                Optional.ofNullable(driver.programs().get("nvidia-smi"))
                    .map(
                        program -> new NvidiaSmi(program, driver.loaderPath("libnvidia-ml.so.1"))));
  }
}
