package dev.zlayer.cli.command.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The launcher of the package, with a JVM that only prints its arguments; where it is about caches
 * that fit or not, with a real one.
 */
class LauncherTest {
  private static final String END = "-XX:+ExitOnOutOfMemoryError";

  @TempDir Path home;
  private Path launcher;

  @BeforeEach
  void install() throws IOException {
    launcher = Files.createDirectories(home.resolve("bin")).resolve("zlayer");
    Files.copy(Path.of("../tools/launcher"), launcher);
    Files.createDirectories(home.resolve("lib"));
    Files.writeString(home.resolve("lib/jdk.sh"), "use_jdk() { JAVA_HOME=$home/jdk; }\n");
    Path java = Files.createDirectories(home.resolve("jdk/bin")).resolve("java");
    Files.writeString(java, "#!/bin/sh\necho \"$@\"\n");
    assertThat(java.toFile().setExecutable(true)).isTrue();
  }

  @Test
  void onlyADaemonEndsWhenItIsOutOfMemory() throws Exception {
    assertThat(words("serve")).contains(END, "serve");
    assertThat(words("ps")).contains("ps").doesNotContain(END);
    assertThat(Launch.words()).contains(END);
  }

  @ParameterizedTest
  @CsvSource({
    "short.aot, version",
    "short.aot, --version",
    "short.aot, ps",
    "short.aot, ps --all",
    "run.aot, run --rm busybox true",
    "exec.aot, exec web true",
    "short.aot, logs web",
    "short.aot, job run --wait shop/report",
    "zlayer.aot, ps --json",
    "zlayer.aot, run --json busybox true",
    "zlayer.aot, job ls",
    "zlayer.aot, up shop.zlayer.yml",
    "zlayer.aot, versions",
    "zlayer.aot, ''",
    "daemon.aot, serve --log-level debug"
  })
  void everyVerbHasItsCache(String cache, String line) throws Exception {
    caches("exec.aot", "run.aot", "short.aot", "zlayer.aot", "daemon.aot");
    assertThat(words(line.isEmpty() ? new String[0] : line.split(" ")))
        .contains("-XX:AOTCache=" + home.resolve(cache))
        .containsOnlyOnce("-Xlog:disable");
  }

  @Test
  void withoutTheSmallCacheTheLargeOneIsUsedAndWithoutAnyNone() throws Exception {
    caches("zlayer.aot");
    assertThat(words("ps")).contains("-XX:AOTCache=" + home.resolve("zlayer.aot"));
    assertThat(words("serve")).noneMatch(word -> word.startsWith("-XX:AOTCache"));
    Files.delete(home.resolve("zlayer.aot"));
    assertThat(words("ps")).contains("ps").noneMatch(word -> word.startsWith("-XX:AOTCache"));
  }

  /** By the same words that say where the daemon has its data; else it is one outside of it. */
  @Test
  void anAgentInAClusterHasACacheOfItsOwn() throws Exception {
    caches("daemon.aot", "cluster.aot");
    Path joined = Files.createDirectories(home.resolve("some where/joined"));
    Path alone = Files.createDirectories(home.resolve("alone"));
    Files.createDirectories(alone.resolve("cluster")); // of a node that has left, or is joining
    Files.createDirectories(joined.resolve("cluster"));
    Files.writeString(joined.resolve("cluster/node.json"), "{}");
    Map<String, String> there = Map.of("ZLAYER_DATA_DIR", joined.toString());
    Map<String, String> elsewhere = Map.of("ZLAYER_DATA_DIR", alone.toString());

    assertThat(cache(there, "serve")).isEqualTo("cluster.aot");
    assertThat(cache(elsewhere, "serve", "--data-dir", joined.toString())).isEqualTo("cluster.aot");
    assertThat(cache(elsewhere, "serve", "--data-dir=" + joined)).isEqualTo("cluster.aot");

    assertThat(cache(elsewhere, "serve")).isEqualTo("daemon.aot");
    assertThat(cache(there, "serve", "--data-dir", alone.toString())).isEqualTo("daemon.aot");
    assertThat(cache(there, "serve", "--data-dir=" + alone)).isEqualTo("daemon.aot");
    assertThat(cache(there, "serve", "--config", joined.toString(), "--data-dir=" + alone))
        .isEqualTo("daemon.aot");
    assertThat(cache(elsewhere, "serve", "--config", joined.toString())).isEqualTo("daemon.aot");

    Files.delete(home.resolve("cluster.aot"));
    assertThat(cache(there, "serve")).as("none was trained").isEqualTo("daemon.aot");
  }

  private String cache(Map<String, String> env, String... words) throws InterruptedException {
    String option = "-XX:AOTCache=" + home + "/";
    return run(env, words)
        .stdout()
        .replaceFirst("(?s).*" + Pattern.quote(option), "")
        .replaceFirst("(?s) .*", "");
  }

  /** What is trained is what is asked for with it, and every cache is made and looked for. */
  @Test
  void everyCacheIsTrained() throws Exception {
    String train = Files.readString(Path.of("../tools/train"));
    assertThat(train).contains("ZLAYER_AOT_OUTPUT=$caches/cluster.aot");
    for (String cache : List.of("exec", "run", "short", "zlayer", "daemon")) {
      assertThat(train).contains("ZLAYER_AOT_OUTPUT=$caches/" + cache + ".aot");
      for (String script : List.of("../tools/dist", "../package")) {
        assertThat(Files.readString(Path.of(script)))
            .containsPattern("for cache in [a-z. ]*\\b" + cache + "\\b[a-z. ]*;")
            .contains("/cluster.aot");
      }
    }
    caches("exec.aot", "run.aot", "short.aot", "zlayer.aot");
    for (String cache : List.of("exec.aot", "run.aot", "short.aot")) {
      int from = train.indexOf("$caches/" + cache);
      int end = train.indexOf("\nEND", from);
      List<String> lines = train.substring(train.indexOf('\n', from) + 1, end).lines().toList();
      assertThat(lines).isNotEmpty();
      for (String line : lines) {
        assertThat(words(line.replaceFirst("^bare ", "").split(" ")))
            .as(line)
            .contains("-XX:AOTCache=" + home.resolve(cache));
      }
    }
  }

  @Test
  void aCacheThatWasTrainedFits() throws Exception {
    realJvm();
    var training = run(Map.of("ZLAYER_AOT_OUTPUT", home.resolve("short.aot").toString()), "ps");
    assertThat(training.code()).as(training.stderr()).isZero();
    assertThat(home.resolve("short.aot")).exists();

    // with this flag the JVM refuses to start without the cache
    var result = run(Map.of("JDK_JAVA_OPTIONS", "-XX:AOTMode=on"), "ps", "--all");
    assertThat(result.code()).as(result.stderr()).isZero();
    assertThat(result.stdout()).isEqualTo("ran ps --all\n");
  }

  @Test
  void aCacheThatIsDamagedIsNoError() throws Exception {
    realJvm();
    caches("short.aot");
    assertThat(run(Map.of("JDK_JAVA_OPTIONS", "-XX:AOTMode=on"), "ps").code()).isNotZero();
    assertRuns("ran ps\n");
  }

  /** For example after a copy to a full disk. */
  @Test
  void halfACacheIsNoError() throws Exception {
    realJvm();
    Path cache = home.resolve("short.aot");
    run(Map.of("ZLAYER_AOT_OUTPUT", cache.toString()), "ps");
    try (var file = FileChannel.open(cache, StandardOpenOption.WRITE)) {
      file.truncate(file.size() / 2);
    }
    assertRuns("ran ps\n");
  }

  private void assertRuns(String printed) throws InterruptedException {
    CommandResult result = run(Map.of(), "ps");
    assertThat(result.code()).isZero();
    assertThat(result.stdout()).isEqualTo(printed);
    assertThat(result.stderr()).isEmpty();
  }

  private void caches(String... names) throws IOException {
    for (String name : names) {
      Files.writeString(home.resolve(name), "no cache of any JVM");
    }
  }

  /** A program of one class in the place of ours. */
  private void realJvm() throws IOException {
    Files.createSymbolicLink(home.resolve("runtime"), Path.of(System.getProperty("java.home")));
    jar("ran");
  }

  private void jar(String word) throws IOException {
    Path source = Files.createDirectories(home.resolve("source")).resolve("Main.java");
    Files.writeString(
        source,
        """
        package dev.zlayer.cli;

        class Main {
          public static void main(String[] words) {
            System.out.println("%s " + String.join(" ", words));
          }
        }
        """
            .formatted(word));
    String classes = home.resolve("classes").toString();
    assertThat(
            ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "-proc:none", "-d", classes, source.toString()))
        .isZero();
    String name = "dev/zlayer/cli/Main.class";
    try (var jar = new JarOutputStream(Files.newOutputStream(home.resolve("lib/zlayer.jar")))) {
      jar.putNextEntry(new JarEntry(name));
      jar.write(Files.readAllBytes(Path.of(classes, name)));
      jar.closeEntry();
    }
  }

  private List<String> words(String... arguments) throws InterruptedException {
    return List.of(run(Map.of(), arguments).stdout().strip().split(" "));
  }

  private CommandResult run(Map<String, String> env, String... arguments)
      throws InterruptedException {
    var words = new ArrayList<>(List.of("sh", launcher.toString()));
    words.addAll(List.of(arguments));
    return Processes.run(Command.of(words).withEnv(env), Deadline.after(Duration.ofSeconds(60)));
  }
}
