package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.OrdinaryUser;
import dev.zlayer.testkit.Requires;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;

/** The contract of a runtime once more, with containers of an ordinary user. */
@Requires({
  Fact.ROOT,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.OVERLAYFS,
  Fact.ROOTLESS
})
final class RootlessContractIT {
  private static final int USER = 64_323;
  private static final long SECONDS = 400;
  private static final String NO_GROUPS = "an agent without root has no control groups here";

  /** What cannot work is refused with this reason; docs/rootless.md has the same list. */
  private static final Map<String, String> REFUSED =
      Map.of(
          "pausingFreezesAndBothWaysAreIdempotent", "pause: " + NO_GROUPS,
          "aPausedOneCanBeRemovedByForce", "pause: " + NO_GROUPS,
          "aPausedOneCanBeStopped", "pause: " + NO_GROUPS,
          "newLimitsShowInTheStats", "a memory limit: " + NO_GROUPS);

  private static final String SAME_WITH_ROOT = "containers of this runtime outlive the agent";

  @TempDir private static Path directory;
  private static Path run;
  private static List<String> lines = List.of();

  @BeforeAll
  @Timeout(SECONDS + 60) // else that of every other method ends it before
  static void runContract() throws Exception {
    OrdinaryUser user = OrdinaryUser.in(directory, USER);
    Path home = user.home();
    run = home.resolve("run");
    Path output = directory.resolve("output.txt");
    Process process =
        user.startRootless(
            Map.of("HOME", home.toString()),
            user.java(
                List.of("-Djava.io.tmpdir=" + home),
                RootlessContract.class.getName(),
                run.toString(),
                "ordinary"),
            output);
    try {
      boolean ended = process.waitFor(SECONDS, TimeUnit.SECONDS);
      lines = Files.readAllLines(output);
      assertThat(ended).as("ended within %s s: %s", SECONDS, lines).isTrue();
    } finally {
      process.destroyForcibly();
    }
  }

  @AfterAll
  static void end() throws Exception {
    OrdinaryUser.kill(OrdinaryUser.started(run));
  }

  /** What it said of each test becomes a test of this class. */
  @TestFactory
  Stream<DynamicTest> contract() {
    return results().map(words -> DynamicTest.dynamicTest(words[1], () -> check(words)));
  }

  private static void check(String[] words) {
    String method = words[1].replaceFirst("\\(.*", "");
    if (REFUSED.containsKey(method)) {
      assertThat(words[0]).isEqualTo("failed");
      assertThat(words[2]).contains("Unsupported: not supported: " + REFUSED.get(method));
    } else {
      Assumptions.assumeFalse(words[0].equals("skipped"), words[2]);
      assertThat(words[0]).as(words[2].replace('\f', '\n')).isEqualTo("ok");
    }
  }

  private static Stream<String[]> results() {
    return lines.stream().map(line -> line.split("\t", -1)).filter(words -> words.length == 3);
  }

  @Test
  void everyTestOfTheContractRan() {
    assertThat(lines).contains(RootlessContract.ENDED);
    Set<String> ran =
        results()
            .filter(words -> !words[0].equals("skipped") || words[2].endsWith(SAME_WITH_ROOT))
            .map(words -> words[1].replaceFirst("\\(.*", ""))
            .collect(Collectors.toSet());
    assertThat(Stream.of(OciContractIT.class.getMethods()).filter(RootlessContractIT::isTest))
        .hasSizeGreaterThan(70)
        .extracting(Method::getName)
        .allMatch(ran::contains);
  }

  private static boolean isTest(Method method) {
    return method.isAnnotationPresent(Test.class)
        || method.isAnnotationPresent(ParameterizedTest.class);
  }
}
