package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Another Maven project, made from docs/embedding.md alone: its dependency is the one of the page,
 * its program the one of the page, and it finds our artefacts in a repository and nowhere else.
 */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.MAVEN})
class EmbeddingIT {
  private static final Path ROOT = Path.of("..");
  private static final List<String> MODULES =
      List.of("core", "host", "image", "runtime", "engine", "proxy", "cluster", "daemon");
  private static final Duration LIMIT = Duration.ofMinutes(2);
  private static final String JAVA_HOME = System.getProperty("java.home");

  /** What the page says to run it with. */
  private static final List<String> FLAGS =
      List.of(
          "--enable-native-access=ALL-UNNAMED",
          "-Dslf4j.provider=dev.zlayer.daemon.log.JettyLog",
          "-Dslf4j.internal.verbosity=WARN");

  @TempDir Path project;

  @Test
  void anotherProjectIsBuiltAndRunsFromTheArtefacts() throws Exception {
    String page = Files.readString(ROOT.resolve("docs/embedding.md"));
    Files.writeString(project.resolve("pom.xml"), pom(block(page, "xml")));
    Path sources = Files.createDirectories(project.resolve("src/main/java"));
    Files.writeString(sources.resolve("Example.java"), block(page, "java"));
    Path repository = repository();
    assertThat(page).contains(FLAGS);

    CommandResult built =
        Processes.run(
            Command.of(
                    "mvn",
                    "--offline",
                    "--batch-mode",
                    "--quiet",
                    "-Dmaven.repo.local=" + repository,
                    "-DoutputDirectory=libraries",
                    "-DincludeScope=runtime",
                    "compile",
                    "dependency:copy-dependencies")
                .withEnv(Map.of("JAVA_HOME", JAVA_HOME))
                .in(project),
            Deadline.after(LIMIT));
    assertThat(built.code()).as(built.stdout() + built.stderr()).isZero();
    try (Stream<Path> libraries = Files.list(project.resolve("libraries"))) {
      assertThat(libraries.map(file -> file.getFileName().toString()))
          .as("all that it runs with, and nothing of our tests")
          .contains("zlayer-daemon-%s.jar".formatted(version()))
          .noneMatch(name -> name.matches("(zlayer-testkit|junit|assertj|s3proxy).*"));
    }

    try (Node node = new Node()) {
      try (Agent agent = Agent.open(node.configured().config(), Map.of(), Node.log())) {
        byte[] archive = ImageMaker.busybox().cmd("sh").make().ociArchive(Node.IMAGE);
        agent.images().images().load(new ByteArrayInputStream(archive));
      }
      AgentConfig config = node.configured().config();
      CommandResult ran =
          Processes.run(
              Command.of(program())
                  .withEnv(
                      Map.of(
                          "ZLAYER_DATA_DIR", config.dataDir(),
                          "ZLAYER_NETWORK_PREFIX", config.networkPrefix().orElseThrow(),
                          "ZLAYER_NETWORK_RANGE", config.networkRange().orElseThrow()))
                  .in(project),
              Deadline.after(LIMIT));
      assertThat(ran.stdout()).as(ran.stderr()).isEqualTo("hello\n");
      assertThat(ran.stderr()).as("a library prints nothing by itself").isEmpty();
      assertThat(ran.code()).isZero();
    }
  }

  private static List<String> program() {
    var words = new ArrayList<>(List.of(JAVA_HOME + "/bin/java"));
    words.addAll(FLAGS);
    words.addAll(List.of("-cp", "target/classes:libraries/*", "Example", Node.IMAGE));
    return words;
  }

  private static String block(String page, String language) {
    int from = page.indexOf("```" + language + "\n") + language.length() + 4;
    return page.substring(from, page.indexOf("```", from));
  }

  /** Plugins in the versions that our build uses, which are therefore there. */
  private static String pom(String dependency) throws IOException {
    var plugins = new StringBuilder();
    for (String name :
        List.of("maven-resources-plugin", "maven-compiler-plugin", "maven-dependency-plugin")) {
      plugins.append(
          "<plugin><artifactId>%s</artifactId><version>%s</version></plugin>%n"
              .formatted(
                  name, first("<artifactId>" + name + "</artifactId>\\s*<version>([^<]+)<")));
    }
    return """
    <project xmlns="http://maven.apache.org/POM/4.0.0">
      <modelVersion>4.0.0</modelVersion>
      <groupId>org.example</groupId>
      <artifactId>embedding</artifactId>
      <version>1</version>
      <properties>
        <maven.compiler.release>25</maven.compiler.release>
        <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
      </properties>
      <dependencies>
    %s
      </dependencies>
      <build>
        <plugins>
    %s
        </plugins>
      </build>
    </project>
    """
        .formatted(dependency, plugins);
  }

  /**
   * What others published as this build has it, by links, and ours as a repository would hold it:
   * jars and their descriptions.
   */
  private Path repository() throws IOException {
    Path others =
        Path.of(
            System.getProperty(
                "localRepository", System.getProperty("user.home") + "/.m2/repository"));
    Path repository = Files.createDirectories(project.resolve("repository"));
    links(others, repository, "dev");
    Path ours = Files.createDirectories(repository.resolve("dev/zlayer"));
    if (Files.isDirectory(others.resolve("dev"))) {
      links(others.resolve("dev"), repository.resolve("dev"), "zlayer");
    }
    publish(ours, "zlayer", ROOT.resolve("pom.xml"));
    for (String module : MODULES) {
      Path place = publish(ours, "zlayer-" + module, ROOT.resolve(module).resolve("pom.xml"));
      Path jar = place.resolve("zlayer-%s-%s.jar".formatted(module, version()));
      Path target = ROOT.resolve(module).resolve("target");
      Path packaged = target.resolve(jar.getFileName());
      if (Files.exists(packaged) && !stale(packaged, target.resolve("classes"))) {
        Files.copy(packaged, jar);
      } else {
        pack(target.resolve("classes"), jar);
      }
    }
    return repository;
  }

  private static void links(Path from, Path to, String except) throws IOException {
    try (Stream<Path> all = Files.list(from)) {
      for (Path one : all.toList()) {
        if (!one.endsWith(except)) {
          Files.createSymbolicLink(to.resolve(one.getFileName()), one.toAbsolutePath());
        }
      }
    }
  }

  private static Path publish(Path group, String name, Path pom) throws IOException {
    Path place = Files.createDirectories(group.resolve(name).resolve(version()));
    Files.copy(pom, place.resolve("%s-%s.pom".formatted(name, version())));
    return place;
  }

  /** Whether the classes were compiled anew without being packaged. */
  private static boolean stale(Path jar, Path classes) throws IOException {
    try (Stream<Path> files = Files.walk(classes)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        if (Files.getLastModifiedTime(file).compareTo(Files.getLastModifiedTime(jar)) > 0) {
          return true;
        }
      }
      return false;
    }
  }

  private static void pack(Path classes, Path jar) {
    int code =
        java.util.spi.ToolProvider.findFirst("jar")
            .orElseThrow()
            .run(System.out, System.err, "-cf", jar.toString(), "-C", classes.toString(), ".");
    assertThat(code).isZero();
  }

  private static String version() throws IOException {
    return first("<artifactId>zlayer</artifactId>\\s*<version>([^<]+)<");
  }

  private static String first(String pattern) throws IOException {
    Matcher found = Pattern.compile(pattern).matcher(Files.readString(ROOT.resolve("pom.xml")));
    assertThat(found.find()).as(pattern).isTrue();
    return found.group(1);
  }
}
