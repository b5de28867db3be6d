package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.zlayer.container.IdRange;
import dev.zlayer.host.process.UserNamespace;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OverlayMountIT {
  @TempDir Path directory;

  @BeforeEach
  void needsRoot() {
    assumeTrue(System.getProperty("user.name").equals("root"), "run as root");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void stacksManyLayersWithLongAndOddNames(boolean old) throws Exception {
    Path home = Files.createDirectories(directory.resolve("n".repeat(120)).resolve("o,d:d\\"));
    List<Path> lowers = new ArrayList<>();
    for (int i = 0; i < 190; i++) {
      Path lower = Files.createDirectories(home.resolve("l".repeat(100) + i));
      Files.writeString(lower.resolve("file-" + i), "" + i);
      Files.writeString(lower.resolve("top"), "" + i);
      lowers.add(lower);
    }
    Path upper = Files.createDirectory(home.resolve("upper"));
    Path work = Files.createDirectory(home.resolve("work"));
    Path target = Files.createDirectory(home.resolve("target"));

    OverlayMount.mount(lowers, upper, work, target, Optional.empty(), old);

    try {
      assertThat(Mounts.mounted(target)).isTrue();
      assertThat(target.resolve("top")).hasContent("0");
      assertThat(target.resolve("file-189")).hasContent("189");
      Files.writeString(target.resolve("new"), "x");
      assertThat(upper.resolve("new")).hasContent("x");
    } finally {
      Mounts.unmount(target);
    }
    assertThat(Mounts.mounted(target)).isFalse();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void showsOtherOwnersThanThereAreOnTheDisk(boolean old) throws Exception {
    var ids = new IdRange(1_900_000_000);
    Path lower = Files.createDirectory(directory.resolve("lower"));
    Files.setAttribute(Files.writeString(lower.resolve("file"), "x"), "unix:uid", 7);
    Path upper = Files.createDirectory(directory.resolve("upper"));
    Path work = Files.createDirectory(directory.resolve("work"));
    Path target = Files.createDirectory(directory.resolve("target"));
    try (var namespace = UserNamespace.forMounts(ids);
        var mapping = IdMapping.open(namespace.users())) {
      OverlayMount.mount(List.of(lower), upper, work, target, Optional.of(mapping), old);
    }
    try {
      assertThat(Files.getAttribute(target, "unix:uid")).isEqualTo((int) ids.first());
      assertThat(Files.getAttribute(target.resolve("file"), "unix:uid"))
          .isEqualTo((int) ids.outside(7));
      Path made = Files.writeString(target.resolve("made"), "x");
      Files.setAttribute(made, "unix:uid", (int) ids.outside(8));
      assertThat(Files.getAttribute(upper.resolve("made"), "unix:uid")).isEqualTo(8);
    } finally {
      Mounts.unmount(target);
    }
  }
}
