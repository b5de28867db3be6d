package dev.zlayer.cli.layers;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What others depend on has names that stay, and says what repositories ask for. */
class ArtefactsTest {
  private static final List<String> SHIPPED =
      List.of("core", "host", "image", "runtime", "engine", "proxy", "cluster", "daemon", "cli");

  private static final Path ROOT = Path.of("..");

  @Test
  void everyArtefactHasAModuleNameOfItsOwn() throws IOException {
    assertThat(Files.readString(ROOT.resolve("pom.xml")))
        .contains("<Automatic-Module-Name>${module.name}</Automatic-Module-Name>");
    for (String module : SHIPPED) {
      assertThat(pom(module))
          .as(module)
          .contains("<module.name>dev.zlayer." + module + "</module.name>")
          .contains("<name>zlayer " + module + "</name>")
          .contains("<description>");
    }
  }

  /** Two modules with one package could not be used together. */
  @Test
  void noPackageIsInTwoArtefacts() throws IOException {
    Map<String, String> owners = new HashMap<>();
    for (String module : SHIPPED) {
      for (String name : packages(ROOT.resolve(module).resolve("src/main/java"))) {
        assertThat(owners.put(name, module)).as(name + " of " + module).isNull();
      }
    }
    assertThat(owners).containsEntry("dev/zlayer/daemon", "daemon");
  }

  @Test
  void theMetadataIsComplete() throws IOException {
    assertThat(Files.readString(ROOT.resolve("pom.xml")))
        .contains("<url>", "<licenses>", "<developers>", "<scm", "<description>")
        .contains("maven-source-plugin", "maven-javadoc-plugin");
    for (String module : List.of("testkit", "bench")) {
      assertThat(pom(module)).as(module).contains("<maven.deploy.skip>true</maven.deploy.skip>");
    }
  }

  /** Where the project lives stands once; modules do not add their names to it. */
  @Test
  void everyAddressIsThatOfTheProject() throws IOException {
    String parent = Files.readString(ROOT.resolve("pom.xml"));
    assertThat(parent)
        .containsOnlyOnce("<zlayer.home>")
        .contains("<url>${zlayer.home}</url>", "<url>${zlayer.home}/zlayer.git</url>")
        .contains("<connection>scm:git:${zlayer.home}/zlayer.git</connection>")
        .contains(
            "child.project.url.inherit.append.path=\"false\"",
            "child.scm.connection.inherit.append.path=\"false\"",
            "child.scm.url.inherit.append.path=\"false\"");
    for (String module : SHIPPED) {
      assertThat(pom(module)).as(module).doesNotContain("<url>", "<scm>");
    }
  }

  private static String pom(String module) throws IOException {
    return Files.readString(ROOT.resolve(module).resolve("pom.xml"));
  }

  private static Set<String> packages(Path sources) throws IOException {
    try (Stream<Path> files = Files.walk(sources)) {
      return files
          .filter(file -> file.toString().endsWith(".java"))
          .filter(file -> !file.endsWith("package-info.java"))
          .map(file -> sources.relativize(file.getParent()).toString())
          .collect(Collectors.toSet());
    }
  }
}
