package dev.zlayer.cli.layers;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/**
 * Holds the compiled classes against the architecture: which module may use which, and who may
 * touch the machine. Every rule says why it exists; none has a list of exceptions by name of a
 * person.
 */
class LayersTest {
  private static final int LONGEST_FILE = 500;

  /** A power, where it may be used, and why only there. */
  private record Fence(
      String power, Predicate<String> mention, Predicate<CompiledClass> allowed, String why) {}

  /** Classes outside of {@code core.task} that start a thread; each ends it when it is closed. */
  private static final Set<String> THREAD_OWNERS =
      Set.of(
          "dev.zlayer.cli.TrainingLoop",
          "dev.zlayer.cli.terminal.KeyboardLoop",
          "dev.zlayer.cli.terminal.OutputWatchLoop",
          "dev.zlayer.daemon.DiskCollector",
          "dev.zlayer.daemon.docker.AttachSocket",
          "dev.zlayer.daemon.docker.ExecRegistry",
          "dev.zlayer.daemon.rest.stream.WebSocketStream",
          "dev.zlayer.host.file.DirectoryPollLoop",
          "dev.zlayer.host.file.DirectoryWatchLoop",
          "dev.zlayer.host.http.ExpiryLoop",
          "dev.zlayer.host.http.ProcessRelay",
          "dev.zlayer.host.http.SocketWarmup",
          "dev.zlayer.host.linux.CgroupWarmer",
          "dev.zlayer.host.linux.NamespaceThread",
          "dev.zlayer.host.linux.ReadyLoop",
          "dev.zlayer.host.net.DatagramRelay",
          "dev.zlayer.host.net.Relay",
          "dev.zlayer.host.net.RuleSetLoop",
          "dev.zlayer.host.process.OutputDrain",
          "dev.zlayer.host.process.RootlessMonitor",
          "dev.zlayer.proxy.dns.NameServer",
          "dev.zlayer.runtime.cni.NamespacePool",
          "dev.zlayer.runtime.cni.ReleaseLoop",
          "dev.zlayer.runtime.docker.DemuxLoop",
          "dev.zlayer.runtime.observe.SamplerLoop",
          "dev.zlayer.runtime.oci.ExitWatchLoop",
          "dev.zlayer.runtime.oci.exec.DescriptorCopyLoop",
          "dev.zlayer.runtime.oci.exec.ExecLogLoop",
          "dev.zlayer.runtime.oci.exec.ResizeLoop",
          "dev.zlayer.runtime.oci.gpu.Gpus",
          "dev.zlayer.runtime.wasm.ModuleLoop");

  private static final List<Fence> FENCES =
      List.of(
          new Fence(
              "starting processes",
              mention ->
                  mention.startsWith("java.lang.ProcessBuilder")
                      || mention.equals("java.lang.Runtime#exec"),
              in("dev.zlayer.host.process"),
              "so that every child has a deadline and is reaped"),
          new Fence(
              "native calls",
              mention -> mention.startsWith("java.lang.foreign."),
              in("dev.zlayer.host.linux"),
              "so that memory is freed and errno is read in one place"),
          new Fence(
              "threads",
              mention ->
                  mention.equals("java.lang.Thread#ofVirtual")
                      || mention.equals("java.lang.Thread#ofPlatform")
                      || mention.equals("java.lang.Thread#startVirtualThread")
                      || mention.equals("java.lang.Thread#<init>")
                      || mention.equals("java.lang.Thread#start")
                      || mention.startsWith("java.util.concurrent.Executors")
                      || mention.matches(
                          "java.util.concurrent.CompletableFuture#(supply|run)Async"),
              in("dev.zlayer.task").or(type -> THREAD_OWNERS.contains(type.topLevel())),
              "so that every thread has an owner that ends it"),
          new Fence(
              "the wall clock",
              mention ->
                  mention.equals("java.time.Instant#now")
                      || mention.equals("java.lang.System#currentTimeMillis")
                      || mention.equals("java.time.LocalDateTime#now")
                      || mention.equals("java.time.ZonedDateTime#now")
                      || mention.startsWith("java.time.InstantSource#system")
                      || mention.startsWith("java.time.Clock#system"),
              in("dev.zlayer.cli", "dev.zlayer.daemon"),
              "so that time is an argument and tests own it"),
          new Fence(
              "the monotonic clock",
              mention -> mention.equals("java.lang.System#nanoTime"),
              in("dev.zlayer.task"),
              "so that time limits are deadlines, passed down"),
          new Fence(
              "sleeping",
              mention -> mention.equals("java.lang.Thread#sleep"),
              in("dev.zlayer.task"),
              "so that waiting is for a condition with a deadline"),
          new Fence(
              "the environment",
              mention ->
                  mention.equals("java.lang.System#getenv")
                      || mention.equals("java.lang.System#getProperty"),
              in("dev.zlayer.cli", "dev.zlayer.daemon"),
              "so that settings are read once, at the entry"),
          new Fence(
              "printing and exiting",
              mention ->
                  mention.equals("java.lang.System#exit")
                      || mention.equals("java.lang.System#out")
                      || mention.equals("java.lang.System#err")
                      || mention.equals("java.lang.Runtime#halt"),
              in("dev.zlayer.cli"),
              "so that a library never ends or soils its host"),
          new Fence(
              "JSON and YAML tokens",
              mention ->
                  mention.startsWith("tools.jackson.") || mention.startsWith("org.snakeyaml."),
              in("dev.zlayer.json", "dev.zlayer.spec"),
              "so that hostile input meets the same limits everywhere"),
          new Fence(
              "the S3 client",
              mention -> mention.startsWith("software.amazon."),
              in("dev.zlayer.engine.s3"),
              "so that its classes are loaded when a transfer runs, and only then"),
          new Fence(
              "the library of certificates",
              mention ->
                  mention.startsWith("org.shredzone.") || mention.startsWith("org.bouncycastle."),
              in("dev.zlayer.proxy.tls"),
              "so that private keys are handled in one place"));

  @Test
  void modulesUseOnlyWhatIsBelowThem() {
    Map<String, String> moduleOf = new HashMap<>();
    for (String module : Modules.names()) {
      for (CompiledClass type : classes(module)) {
        moduleOf.put(type.name(), module);
      }
    }
    assertThat(moduleOf).as("compiled classes were found").hasSizeGreaterThan(100);

    List<String> wrong = new ArrayList<>();
    for (String module : Modules.names()) {
      assertThat(Modules.MAY_USE)
          .as("a new module needs its place in the layers")
          .containsKey(module);
      for (CompiledClass type : classes(module)) {
        for (String used : type.classes()) {
          String target = moduleOf.getOrDefault(used, module);
          if (!target.equals(module) && !Modules.MAY_USE.get(module).contains(target)) {
            wrong.add("%s (%s) uses %s (%s)".formatted(type.name(), module, used, target));
          }
        }
      }
    }
    assertThat(wrong).as("forbidden edges").isEmpty();
  }

  /** A distribution has another one in the place of each: they are made in one way. */
  private static final Set<String> IN_SEVERAL_PACKAGES = Set.of("BoundFields");

  @Test
  void aNameOfAClassHasOneMeaning() {
    Map<String, Set<String>> places = new TreeMap<>();
    for (String module : shipped()) {
      for (CompiledClass type : classes(module)) {
        String name = type.topLevel().substring(type.topLevel().lastIndexOf('.') + 1);
        if (!name.equals("package-info") && !IN_SEVERAL_PACKAGES.contains(name)) {
          places.computeIfAbsent(name, _ -> new TreeSet<>()).add(type.topLevel());
        }
      }
    }
    assertThat(places).hasSizeGreaterThan(100);
    places.values().removeIf(same -> same.size() == 1);
    assertThat(places).as("names that mean several classes").isEmpty();
  }

  @Test
  void powersAreUsedOnlyInsideTheirFences() {
    List<String> wrong = new ArrayList<>();
    for (String module : shipped()) {
      for (CompiledClass type : classes(module)) {
        for (Fence fence : FENCES) {
          if (!fence.allowed().test(type)) {
            mentions(type)
                .filter(fence.mention())
                .forEach(
                    mention ->
                        wrong.add(
                            "%s: %s uses %s (allowed elsewhere only, %s)"
                                .formatted(fence.power(), type.name(), mention, fence.why())));
          }
        }
      }
    }
    assertThat(wrong).isEmpty();
  }

  @Test
  void onlyTheLinuxPackageReadsProcAndSys() {
    List<String> wrong = new ArrayList<>();
    for (String module : shipped()) {
      for (CompiledClass type : classes(module)) {
        if (!in("dev.zlayer.host.linux").test(type)) {
          type.strings().stream()
              .filter(text -> text.startsWith("/proc/self") || text.startsWith("/sys/fs"))
              .forEach(text -> wrong.add(type.name() + " contains \"" + text + "\""));
        }
      }
    }
    assertThat(wrong).isEmpty();
  }

  @Test
  void theFencesCanFail() {
    var offender =
        CompiledClass.read(
            Modules.root().resolve("cli/target/test-classes/dev/zlayer/cli/layers/Offender.class"));

    for (Fence fence : FENCES) {
      boolean caught = mentions(offender).anyMatch(fence.mention());
      if (!fence.power().startsWith("JSON")
          && !fence.power().startsWith("the S3")
          && !fence.power().startsWith("the library")) {
        assertThat(caught).as(fence.power()).isTrue();
      }
    }
  }

  @Test
  void filesAreShort() throws IOException {
    List<String> wrong = new ArrayList<>();
    for (String module : Modules.names()) {
      for (Path file : Modules.files(module, "src", ".java")) {
        int lines = Files.readAllLines(file).size();
        if (lines > LONGEST_FILE) {
          wrong.add("%s has %d lines".formatted(Modules.root().relativize(file), lines));
        }
      }
    }
    assertThat(wrong).isEmpty();
  }

  @Test
  void everyPackageSaysWhatItIsFor() {
    List<String> wrong = new ArrayList<>();
    for (String module : Modules.names()) {
      for (Path file : Modules.files(module, "src/main/java", ".java")) {
        if (!Files.exists(file.resolveSibling("package-info.java"))) {
          wrong.add(Modules.root().relativize(file.getParent()) + " has no package-info.java");
        }
      }
    }
    assertThat(wrong).isEmpty();
  }

  private static List<CompiledClass> classes(String module) {
    return Modules.files(module, "target/classes", ".class").stream()
        .map(CompiledClass::read)
        .toList();
  }

  private static List<String> shipped() {
    return Modules.names().stream().filter(name -> !Modules.NOT_SHIPPED.contains(name)).toList();
  }

  private static java.util.stream.Stream<String> mentions(CompiledClass type) {
    return java.util.stream.Stream.concat(type.classes().stream(), type.members().stream());
  }

  private static Predicate<CompiledClass> in(String... packages) {
    return type -> {
      for (String name : packages) {
        if (type.packageName().equals(name) || type.packageName().startsWith(name + ".")) {
          return true;
        }
      }
      return false;
    };
  }
}
