package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** On the hierarchies of this machine, whatever they are. */
class ControlGroupIT {
  private final String name = "/zlayer-test-" + ProcessHandle.current().pid();
  private final List<Path> made = new ArrayList<>();
  private Cgroups groups;

  @BeforeEach
  void needsRoot() throws Exception {
    assumeTrue(System.getProperty("user.name").equals("root"), "run as root");
    groups = Cgroups.detect();
    try (var hierarchies = Files.list(Path.of("/sys/fs/cgroup"))) {
      for (Path hierarchy : hierarchies.filter(this::isHierarchy).toList()) {
        made.add(Files.createDirectories(hierarchy.resolve(name.substring(1)).resolve("below")));
      }
    }
    if (Files.exists(Path.of("/sys/fs/cgroup/cgroup.procs"))) {
      made.add(Files.createDirectories(Path.of("/sys/fs/cgroup" + name + "/below")));
    }
    assumeTrue(!made.isEmpty(), "no control groups");
  }

  private boolean isHierarchy(Path directory) {
    return !Files.isSymbolicLink(directory)
        && Files.exists(directory.resolve("cgroup.procs"))
        && !Files.exists(Path.of("/sys/fs/cgroup/cgroup.procs"));
  }

  @AfterEach
  void clear() throws Exception {
    groups.at(name).remove();
  }

  @Test
  void aGroupGoesFromAllHierarchiesWithThoseBelowIt() throws Exception {
    assertThat(groups.at(name).remove()).isTrue();
    assertThat(made).noneMatch(Files::exists);
    assertThat(made).noneMatch(path -> Files.exists(path.getParent()));
    assertThat(groups.at(name).remove()).isTrue();
  }

  @Test
  void onlyAnEmptyGroupIsRemovedAsEmpty() throws Exception {
    groups.removeEmpty(name);
    assertThat(made).as("it has another one in it").allMatch(Files::exists);
    groups.removeEmpty(name + "/below");
    assertThat(made).noneMatch(Files::exists);
    groups.removeEmpty(name);
    assertThat(made).noneMatch(path -> Files.exists(path.getParent()));
  }

  @Test
  void aGroupWithAProcessStays() throws Exception {
    Process process = new ProcessBuilder("sleep", "1000").start();
    try {
      Path busy = made.getFirst();
      Files.writeString(busy.resolve("cgroup.procs"), Long.toString(process.pid()));
      assertThat(groups.at(name).remove()).isFalse();
      assertThat(busy).exists();
    } finally {
      process.destroyForcibly();
      assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void aGroupThatGoesWhileItIsReadIsGone() throws Exception {
    for (int times = 0; times < 200; times++) {
      for (Path group : made) {
        Files.createDirectories(group);
      }
      ControlGroup group = groups.at(name);
      var removal = new Thread(() -> assertThatCode(group::remove).doesNotThrowAnyException());
      removal.start();
      try {
        while (true) {
          boolean _ = group.usage().pids() + group.processes().size() > 0;
        }
      } catch (NoSuchFileException _) {
        removal.join(); // the one way in which this may end
      }
    }
  }

  @Test
  void attachingAheadMovesNobody() throws Exception {
    Path self = Path.of("/proc/self/cgroup");
    String before = Files.readString(self);
    try (var loop = CgroupWarmer.open(groups)) {
      loop.soon();
      assertThat(loop.take()).as("the kernel was asked").isTrue();
    }
    assertThat(Files.readString(self)).isEqualTo(before);
  }
}
