package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.docker.DockerEngine;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.image.TarEntry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * A default container beside one of Docker: nothing may be open here that is shut there. What each
 * row comes to is in the table of docs/security.md.
 */
@Requires({
  Fact.ROOT,
  Fact.RUNC,
  Fact.VIEW,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.OVERLAYFS,
  Fact.DOCKERD,
  Fact.GCC
})
class DockerComparisonIT extends OnStage {
  private static final ImageRef IMAGE = ImageRef.parse("localhost/probe:test");
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  /**
   * What Docker 28 allows and an engine of these tests may be too old for: name_to_handle_at,
   * process_vm_readv and _writev (since kernel 4.8), pkey_*, and what kernels from 5.1 on brought,
   * from pidfd_send_signal to futex_requeue.
   */
  private static final Set<String> YOUNGER =
      Set.of(
          "x86_64 303",
          "x86_64 310",
          "x86_64 311",
          "x86_64 329",
          "x86_64 330",
          "x86_64 331",
          "i386 341",
          "i386 347",
          "i386 348",
          "i386 380",
          "i386 381",
          "i386 382");

  /** The same numbers for every architecture. */
  private static final Set<Integer> YOUNGEST =
      Set.of(
          424, 434, 436, 437, 439, 441, 444, 445, 446, 447, 448, 449, 451, 452, 453, 454, 455, 456,
          457, 458, 462, 463, 464, 465, 466);

  private DockerEngine engine;

  @BeforeAll
  void openBoth() throws Exception {
    Path program = directory.resolve("probe");
    Path source =
        Files.write(
            directory.resolve("system-calls.c"),
            getClass().getResourceAsStream("system-calls.c").readAllBytes());
    run("gcc", "-O1", "-static", "-o", program.toString(), source.toString());
    MadeImage image =
        ImageMaker.busybox()
            .layer(TarEntry.file("probe", Files.readAllBytes(program)).withMode(0755))
            .make();
    fixture.load(image, IMAGE);
    engine = DockerEngine.start();
    Path archive =
        Files.write(directory.resolve("image.tar"), image.dockerArchive(IMAGE.canonical()));
    docker("load", "--input", archive.toString());
  }

  @AfterAll
  void closeTheOther() {
    if (engine != null) {
      engine.close();
    }
  }

  @Test
  void noSystemCallIsAllowedThatDockerDenies() throws Exception {
    Map<String, String> theirs = results(docker("run", "--rm", "--network=none", name(), "/probe"));
    Map<String, String> ours = results(fixture.output(spec("/probe")));
    assertThat(ours.keySet()).isEqualTo(theirs.keySet()).hasSizeGreaterThan(1400);

    var open = new TreeSet<String>();
    ours.forEach(
        (call, result) -> {
          if (denied(theirs.get(call)) && !denied(result) && !younger(call)) {
            open.add(call + ": " + result + " here, " + theirs.get(call) + " there");
          }
        });
    assertThat(open).isEmpty();
    for (String call :
        List.of("x86_64 272", "x86_64 308", "x86_64 165", "x86_64 250", "i386 310")) {
      assertThat(ours).as(call).containsEntry(call, "1"); // unshare, setns, mount, keyctl
    }
    for (int bit : List.of(17, 25, 26, 27, 28, 29, 30)) {
      assertThat(ours).containsEntry("clone-flag-" + bit + " x86_64 56", "1");
    }
    assertThat(ours).containsEntry("x86_64 435", "38"); // clone3
    assertThat(ours).containsEntry("family-1 x86_64 41", "22"); // allowed, of no such kind
    assertThat(ours).containsEntry("family-38 x86_64 41", "1");
    assertThat(ours).containsEntry("family-40 x86_64 41", "1");
    assertThat(ours).containsEntry("i386 20", "0"); // getpid of a static 32-bit program
  }

  /** What a container sees and may do, as lines that are the same in both or weaker in one. */
  private static final String LOOK =
      """
      grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status
      grep -vE ' /(etc/(hosts|hostname|resolv.conf))? |cgroup' /proc/self/mounts | \
        sed -E 's/,(size|inode64|gid|mode|ptmxmode)[^ ,]*//g' | awk '{print "mount", $2, $3, $4}'
      for n in /dev/*; do echo "device $n"; done
      for d in 'b 254 0' 'b 8 0' 'b 7 0' 'c 1 1' 'c 1 2' 'c 1 4' 'c 10 130' 'c 10 229' 'c 10 200' 'c 1 3'; do
        rm -f /node; mknod /node $d 2>/dev/null && (: < /node) 2>/dev/null && echo "opens $d"
      done
      for p in /proc/acpi /proc/asound /proc/interrupts /proc/kcore /proc/keys /proc/latency_stats \
        /proc/sched_debug /proc/scsi /proc/timer_list /proc/timer_stats /sys/firmware \
        /sys/devices/virtual/powercap; do
        if [ -d $p ]; then [ -n "$(ls -A $p)" ] && echo "shows $p"
        elif [ -e $p ]; then [ -n "$(head -c 1 $p 2>/dev/null | od -c | head -1 | cut -c8-)" ] && echo "shows $p"; fi
      done
      for p in /proc/sys/kernel/panic /proc/sysrq-trigger /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness \
        /sys/kernel/profiling /sys/kernel/uevent_helper /proc/irq/default_smp_affinity; do
        [ -e $p ] && (: >> $p) 2>/dev/null && echo "writes $p"
      done
      for d in /proc/bus /proc/fs /proc/irq /sys /sys/fs/cgroup /sys/fs/cgroup/memory; do
        [ -d $d ] && mkdir $d/x 2>/dev/null && rmdir $d/x && echo "writes $d"
      done
      tail -n +2 /proc/self/limits | awk '{gsub(/ +/, " "); print "limit", $0}'
      cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/net/ipv4/ping_group_range \
        /proc/sys/net/ipv4/ip_forward /proc/sys/kernel/shm_rmid_forced | sed 's/^/sysctl /'
      for f in /proc/1/fd/*; do echo "descriptor $f"; done
      for n in cgroup ipc mnt net pid time user uts; do echo "ns $n $(readlink /proc/self/ns/$n)"; done
      echo "oom $(cat /proc/self/oom_score_adj)"
      echo "umask $(umask)"
      echo "pids $(cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null)"
      """;

  @Test
  void everyRowOfTheTableIsEqualOrStricter() throws Exception {
    List<String> theirs =
        docker("run", "--rm", "--network=none", name(), "sh", "-c", LOOK).lines().toList();
    List<String> ours = fixture.output(spec("sh", "-c", LOOK)).lines().toList();

    var rows = new TreeMap<String, String>();
    rows.put("capabilities", relation(ours, theirs, line -> line.startsWith("Cap")));
    rows.put(
        "new privileges",
        stricter(ours.contains("NoNewPrivs:\t1"), theirs.contains("NoNewPrivs:\t1")));
    rows.put("mounts", relation(ours, theirs, line -> line.matches("mount (?!/(proc|sys)/).*")));
    rows.put("devices", relation(ours, theirs, line -> line.startsWith("device ")));
    rows.put("device rules", relation(ours, theirs, line -> line.startsWith("opens ")));
    rows.put("masked paths", relation(ours, theirs, line -> line.startsWith("shows ")));
    rows.put("read-only paths", relation(ours, theirs, line -> line.startsWith("writes ")));
    rows.put("namespaces", namespaces(ours, theirs));
    // the engine of the test has the test's own instead of what systemd gives a service
    rows.put(
        "resource limits",
        relation(ours, theirs, line -> line.matches("limit (?!Max open files).*")));
    assertThat(ours).anyMatch(line -> line.startsWith("limit Max open files 1024 "));
    rows.put("kernel settings", relation(ours, theirs, line -> line.startsWith("sysctl ")));
    rows.put("descriptors", relation(ours, theirs, line -> line.startsWith("descriptor ")));
    rows.put("out-of-memory score", relation(ours, theirs, line -> line.startsWith("oom ")));
    rows.put(
        "processes",
        stricter(!ours.contains("pids max"), theirs.stream().noneMatch("pids max"::equals)));
    rows.put("system calls", "stricter"); // the other test says why
    assertThat(rows.values())
        .as("%s\nours %s\ntheirs %s", rows, ours, theirs)
        .allMatch(relation -> relation.equals("equal") || relation.equals("stricter"));

    String page = Files.readString(Path.of("..", "docs", "security.md"));
    rows.forEach(
        (row, relation) ->
            // an engine that is younger than the page may have become as strict
            assertThat(page)
                .as("docs/security.md")
                .containsPattern("\\| %s \\| (%s|stricter) \\|".formatted(row, relation)));
  }

  @Test
  void everyContainerHasAKeyringOfItsOwn() throws Exception {
    assertThat(fixture.output(spec("/probe", "keyring"))).isEqualTo("error 1");
    String here = run(directory.resolve("probe").toString(), "keyring").strip();
    var open =
        spec("/probe", "keyring")
            .withSecurity(
                new dev.zlayer.container.SecuritySpec(
                    List.of(),
                    List.of(),
                    new dev.zlayer.container.SecuritySpec.Seccomp.Unconfined(),
                    true,
                    false,
                    new dev.zlayer.container.SecuritySpec.Namespace.Private(),
                    new dev.zlayer.container.SecuritySpec.Namespace.Private(),
                    Map.of(),
                    List.of()));
    String first = fixture.output(open);
    String second = fixture.output(open);
    assertThat(List.of(first, second)).allMatch(line -> line.matches("keyring \\d+"));
    assertThat(Set.of(here, first, second)).hasSize(3);
  }

  /** Everything that is a right: what only one of them has makes that one weaker. */
  private static String relation(
      List<String> ours, List<String> theirs, Predicate<String> belongs) {
    Set<String> here = ours.stream().filter(belongs).collect(Collectors.toCollection(TreeSet::new));
    Set<String> there =
        theirs.stream().filter(belongs).collect(Collectors.toCollection(TreeSet::new));
    if (here.equals(there)) {
      return "equal";
    }
    return there.containsAll(here) ? "stricter" : "here " + here + ", there " + there;
  }

  private static String stricter(boolean here, boolean there) {
    if (here == there) {
      return "equal";
    }
    return here ? "stricter" : "weaker";
  }

  /** Which ones are not those of this process; the engine lives in some of its own. */
  private static String namespaces(List<String> ours, List<String> theirs) throws Exception {
    var own = new ArrayList<Set<String>>();
    for (List<String> lines : List.of(ours, theirs)) {
      var separate = new TreeSet<String>();
      for (String line : lines) {
        String[] words = line.split(" ", -1);
        if (words[0].equals("ns")
            && !Files.readSymbolicLink(Path.of("/proc/self/ns", words[1]))
                .toString()
                .equals(words[2])) {
          separate.add(words[1]);
        }
      }
      own.add(separate);
    }
    if (own.get(0).equals(own.get(1))) {
      return "equal";
    }
    return own.get(0).containsAll(own.get(1)) ? "stricter" : "here " + own;
  }

  private static boolean denied(String result) {
    return result.equals("1") || result.equals("38") || result.startsWith("signal");
  }

  private static boolean younger(String call) {
    String[] words = call.split(" ", -1);
    return YOUNGER.contains(call)
        || words.length == 2 && YOUNGEST.contains(Integer.parseInt(words[1]));
  }

  private static Map<String, String> results(String output) {
    var results = new TreeMap<String, String>();
    int family = 0;
    for (String line : output.lines().toList()) {
      String[] words = line.split(" ", -1);
      if (words[0].equals("family")) {
        results.put("family-" + family++ + " " + words[1] + " " + words[2], rest(words, 3));
      } else if (words[0].startsWith("clone-flag")) {
        results.put(words[0] + " " + words[1] + " " + words[2], rest(words, 3));
      } else {
        results.put(words[0] + " " + words[1], rest(words, 2));
      }
    }
    return results;
  }

  private static String rest(String[] words, int from) {
    return String.join(" ", List.of(words).subList(from, words.length));
  }

  private static ContainerSpec spec(String... command) {
    return ContainerSpec.of(IMAGE)
        .withNetwork(NetworkSpec.NONE)
        .withProcess(ProcessSpec.DEFAULT.withArgs(command));
  }

  private static String name() {
    return IMAGE.canonical();
  }

  private String docker(String... words) throws InterruptedException {
    var command = new ArrayList<>(List.of("docker", "--host"));
    command.add("unix://" + ((HttpAddress.Unix) engine.address()).socket());
    command.addAll(List.of(words));
    return run(command.toArray(String[]::new));
  }

  private static String run(String... words) throws InterruptedException {
    return Processes.check(Command.of(words), Deadline.after(TIMEOUT)).stdout();
  }
}
