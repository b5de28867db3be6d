package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The driver of NVIDIA's GPUs as it is on this host, found without any tool of the vendor.
 *
 * @param version of the kernel module; its libraries have the same
 * @param gpus in the order of their device nodes
 * @param nodes device nodes that every container with one of the GPUs needs
 * @param programs by name
 */
public record NvidiaDriver(
    String version,
    List<Gpu> gpus,
    List<Path> nodes,
    List<Library> libraries,
    Map<String, Path> programs) {
  /** Where the driver is when it is installed as usual. */
  public static final Path USUAL_ROOT = Path.of("/");

  /**
   * One card.
   *
   * @param minor number of its device node
   * @param instances its parts, where it is divided by MIG
   */
  public record Gpu(
      int minor, String model, String uuid, String bus, Path node, List<Instance> instances) {}

  /** A part of a card with memory and multiprocessors of its own, and what gives access to it. */
  public record Instance(int gpuInstance, int computeInstance, List<Path> nodes) {}

  /**
   * A library of the driver.
   *
   * @param file itself, whose name ends with the version
   * @param names others by which programs ask for it
   */
  public record Library(Path file, List<String> names) {}

  private static final Pattern VERSION = Pattern.compile("\\s([0-9]{3,4}(?:\\.[0-9]+)+)\\s");
  private static final Pattern INSTANCE = Pattern.compile("(gi|ci)([0-9]+)");
  private static final List<String> COMMON_NODES =
      List.of("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools");
  private static final List<String> PROGRAMS =
      List.of(
          "nvidia-smi", "nvidia-debugdump", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server");
  private static final List<String> PROGRAM_DIRECTORIES =
      List.of(
          "usr/bin",
          "usr/local/bin",
          "usr/local/nvidia/bin",
          "opt/bin",
          "run/current-system/sw/bin");

  /** Looked into besides those of the loader's cache, which not every host has. */
  private static final List<String> LIBRARY_DIRECTORIES =
      List.of(
          "usr/lib/x86_64-linux-gnu",
          "usr/lib/aarch64-linux-gnu",
          "usr/lib64",
          "usr/lib",
          "usr/local/nvidia/lib64",
          "run/opengl-driver/lib");

  public NvidiaDriver {
    gpus = List.copyOf(gpus);
    nodes = List.copyOf(nodes);
    libraries = List.copyOf(libraries);
    programs = Map.copyOf(programs);
  }

  /** Nothing where the kernel module is not loaded. */
  public static Optional<NvidiaDriver> find(Path root) throws IOException {
    // a driver in a directory of its own may come without the kernel's files
    Path kernel = Files.isDirectory(root.resolve("proc/driver/nvidia")) ? root : USUAL_ROOT;
    Path proc = kernel.resolve("proc/driver/nvidia");
    String text;
    try {
      text = Files.readString(proc.resolve("version"));
    } catch (NoSuchFileException _) {
      return Optional.empty();
    }
    Matcher version = VERSION.matcher(text);
    if (!version.find()) {
      throw new IOException("%s names no version".formatted(proc.resolve("version")));
    }
    return Optional.of(
        new NvidiaDriver(
            version.group(1),
            gpus(kernel, proc),
            COMMON_NODES.stream()
                .map(kernel.resolve("dev")::resolve)
                .filter(Files::exists)
                .toList(),
            libraries(root, version.group(1)),
            programs(root)));
  }

  /** Where the library with that name is. */
  public Optional<Path> library(String name) {
    return libraries.stream()
        .filter(library -> library.names().contains(name))
        .map(Library::file)
        .findFirst();
  }

  /** The variable by which a program of the driver finds that library on any host. */
  public Map<String, String> loaderPath(String name) {
    return library(name)
        .map(file -> Map.of("LD_LIBRARY_PATH", String.valueOf(file.getParent())))
        .orElse(Map.of());
  }

  private static List<Gpu> gpus(Path root, Path proc) throws IOException {
    var gpus = new ArrayList<Gpu>();
    for (Path directory : list(proc.resolve("gpus"))) {
      var facts = new TreeMap<String, String>();
      for (String line : Files.readAllLines(directory.resolve("information"))) {
        int colon = line.indexOf(':');
        if (colon > 0) {
          facts.put(line.substring(0, colon).strip(), line.substring(colon + 1).strip());
        }
      }
      String minor = facts.getOrDefault("Device Minor", "");
      if (minor.matches("[0-9]{1,4}") && !facts.getOrDefault("GPU Excluded", "").equals("Yes")) {
        gpus.add(
            new Gpu(
                Integer.parseInt(minor),
                facts.getOrDefault("Model", "unknown"),
                facts.getOrDefault("GPU UUID", ""),
                facts.getOrDefault("Bus Location", directory.getFileName().toString()),
                root.resolve("dev/nvidia" + minor),
                instances(root, proc.resolve("capabilities/gpu" + minor + "/mig"))));
      }
    }
    gpus.sort(Comparator.comparingInt(Gpu::minor));
    return gpus;
  }

  /** A compute instance is usable by whoever may open its node and that of the instance above. */
  private static List<Instance> instances(Path root, Path mig) throws IOException {
    var instances = new ArrayList<Instance>();
    for (Path gpu : list(mig)) {
      for (Path compute : list(gpu)) {
        Matcher outer = INSTANCE.matcher(gpu.getFileName().toString());
        Matcher inner = INSTANCE.matcher(compute.getFileName().toString());
        if (outer.matches() && inner.matches()) {
          instances.add(
              new Instance(
                  Integer.parseInt(outer.group(2)),
                  Integer.parseInt(inner.group(2)),
                  List.of(capability(root, gpu), capability(root, compute))));
        }
      }
    }
    instances.sort(
        Comparator.comparingInt(Instance::gpuInstance).thenComparingInt(Instance::computeInstance));
    return instances;
  }

  private static Path capability(Path root, Path directory) throws IOException {
    Path access = directory.resolve("access");
    for (String line : Files.readAllLines(access)) {
      if (line.startsWith("DeviceFileMinor:")) {
        String minor = line.substring(line.indexOf(':') + 1).strip();
        return root.resolve("dev/nvidia-caps/nvidia-cap" + minor);
      }
    }
    throw new IOException("%s names no device".formatted(access));
  }

  /** All that have the driver's version in their name; those of other programs have not. */
  private static List<Library> libraries(Path root, String version) throws IOException {
    var directories = new ArrayList<Path>();
    for (LoaderCache.Entry entry : LoaderCache.read(root.resolve("etc/ld.so.cache"))) {
      if (ours(entry.name()) && entry.path().startsWith("/")) {
        Path directory = root.resolve(entry.path().substring(1)).getParent();
        if (directory != null && !directories.contains(directory)) {
          directories.add(directory);
        }
      }
    }
    LIBRARY_DIRECTORIES.stream().map(root::resolve).forEach(directories::add);
    var files = new TreeMap<String, Path>();
    var names = new TreeMap<String, List<String>>();
    for (Path directory : directories) {
      for (Path entry : list(directory)) {
        String name = entry.getFileName().toString();
        if (!ours(name) || !Files.isRegularFile(entry)) {
          continue;
        }
        Path file = entry.toRealPath();
        String real = file.getFileName().toString();
        if (real.endsWith(".so." + version) && wide(file)) {
          files.putIfAbsent(real, file);
          List<String> known = names.computeIfAbsent(real, _ -> new ArrayList<>());
          if (!name.equals(real) && !known.contains(name)) {
            known.add(name);
          }
        }
      }
    }
    return files.entrySet().stream()
        .map(
            entry ->
                new Library(
                    entry.getValue(),
                    names.getOrDefault(entry.getKey(), List.of()).stream().sorted().toList()))
        .toList();
  }

  private static boolean ours(String name) {
    return name.startsWith("lib")
        && name.contains(".so")
        && (name.contains("cuda") || name.contains("nv"));
  }

  /** Of 64 bits: the driver brings libraries for programs of 32 bits too, in other directories. */
  private static boolean wide(Path file) throws IOException {
    try (var bytes = Files.newInputStream(file)) {
      byte[] head = bytes.readNBytes(5);
      return head.length == 5 && head[1] == 'E' && head[2] == 'L' && head[4] == 2;
    }
  }

  /** A script in front of a program would not find it in a container: the program itself. */
  private static Map<String, Path> programs(Path root) throws IOException {
    var programs = new TreeMap<String, Path>();
    for (String name : PROGRAMS) {
      for (String directory : PROGRAM_DIRECTORIES) {
        Path program = root.resolve(directory).resolve(name);
        if (Files.isExecutable(program)
            && (!programs.containsKey(name)
                || (wide(program) && !wide(programs.getOrDefault(name, program))))) {
          programs.put(name, program);
        }
      }
    }
    return programs;
  }

  private static List<Path> list(Path directory) throws IOException {
    try (Stream<Path> entries = Files.list(directory)) {
      return entries.sorted().toList();
    } catch (NoSuchFileException | NotDirectoryException _) {
      return List.of();
    }
  }
}
