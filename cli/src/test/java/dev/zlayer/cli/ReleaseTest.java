package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code tools/release}, in a repository of its own. */
class ReleaseTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  @TempDir Path repository;

  @BeforeEach
  void create() throws Exception {
    Files.createDirectories(repository.resolve("tools"));
    Files.createDirectories(repository.resolve("docs"));
    Files.createDirectories(repository.resolve("core"));
    Files.copy(ROOT.resolve("tools/release"), repository.resolve("tools/release"));
    String artifact = "  <artifactId>zlayer%s</artifactId>\n  <version>0.1.0-SNAPSHOT</version>\n";
    String other = "  <artifactId>other</artifactId>\n  <version>0.1.0</version>\n";
    Files.writeString(repository.resolve("pom.xml"), artifact.formatted("") + other);
    Files.writeString(repository.resolve("core/pom.xml"), artifact.formatted("-core"));
    Files.writeString(repository.resolve("docs/embedding.md"), artifact.formatted("-daemon"));
    Files.writeString(
        repository.resolve("CHANGELOG.md"), "# Changelog\n\n## Unreleased\n\n- A line.\n");
    git("init", "-q", "-b", "main");
    git("config", "user.name", "test");
    git("config", "user.email", "test@localhost");
    git("add", "-A");
    git("commit", "-q", "-m", "begin");
  }

  @Test
  void aReleaseIsCommittedTaggedAndFollowedByTheNextVersion() throws Exception {
    assertThat(release("0.1.0").stdout()).contains("v0.1.0 is tagged", "0.2.0-SNAPSHOT");

    assertThat(git("show", "v0.1.0:pom.xml"))
        .contains("zlayer</artifactId>\n  <version>0.1.0</version>")
        .doesNotContain("SNAPSHOT");
    assertThat(git("show", "v0.1.0:docs/embedding.md")).contains("<version>0.1.0</version>");
    assertThat(git("show", "v0.1.0:CHANGELOG.md"))
        .containsPattern("## Unreleased\n\n## 0\\.1\\.0 - \\d{4}-\\d\\d-\\d\\d\n\n- A line\\.");
    assertThat(Files.readString(repository.resolve("core/pom.xml"))).contains("0.2.0-SNAPSHOT");
    assertThat(Files.readString(repository.resolve("pom.xml")))
        .contains("zlayer</artifactId>\n  <version>0.2.0-SNAPSHOT</version>")
        .contains("other</artifactId>\n  <version>0.1.0</version>");
    assertThat(git("status", "--porcelain")).isEmpty();
    assertThat(git("log", "--format=%s").lines())
        .containsExactly("release: continue with 0.2.0-SNAPSHOT", "release: 0.1.0", "begin");

    refused("nothing below 'Unreleased'", "0.2.0");
    Files.writeString(
        repository.resolve("CHANGELOG.md"),
        Files.readString(repository.resolve("CHANGELOG.md"))
            .replace("## Unreleased\n", "## Unreleased\n\n- Another.\n"));
    git("commit", "-q", "-a", "-m", "more");
    refused("v0.1.0 is released already", "0.1.0");
    refused("v0.1.0 is released already", "0.0.9");
    assertThat(release("0.1.1", "0.2.0").code()).isZero();
    assertThat(git("tag").lines()).containsExactly("v0.1.0", "v0.1.1");
  }

  @Test
  void whatIsNotInOrderIsRefusedAndChangesNothing() throws Exception {
    refused("'' is no version", "");
    refused("'1.0' is no version", "1.0");
    refused("is no version", "1.0.0-rc1");
    refused("'x' is no version", "0.1.0", "x");
    refused("0.1.0 is not later than 0.1.0", "0.1.0", "0.1.0");
    git("checkout", "-q", "-b", "side");
    refused("on the branch main", "0.1.0");
    git("checkout", "-q", "main");
    Files.writeString(repository.resolve("new"), "");
    refused("open changes", "0.1.0");
    assertThat(git("tag")).isEmpty();
    assertThat(git("log", "--format=%s").lines()).containsExactly("begin");
  }

  private void refused(String why, String... arguments) throws Exception {
    CommandResult result = release(arguments);
    assertThat(result.code()).isEqualTo(1);
    assertThat(result.stderr()).contains("release: ", why);
  }

  private CommandResult release(String... arguments) throws Exception {
    var words = new ArrayList<>(List.of("sh", "tools/release"));
    words.addAll(List.of(arguments));
    return Processes.run(Command.of(words).in(repository), Deadline.after(Duration.ofSeconds(30)));
  }

  private String git(String... arguments) throws Exception {
    var words = new ArrayList<>(List.of("git"));
    words.addAll(List.of(arguments));
    CommandResult result =
        Processes.run(Command.of(words).in(repository), Deadline.after(Duration.ofSeconds(30)));
    assertThat(result.code()).as(result.stderr()).isZero();
    return result.stdout();
  }
}
