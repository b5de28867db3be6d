package dev.zlayer.daemon.web;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** What is served as the page of the dashboard. */
class StaticFilesTest {
  private static final Path FOLDER = Path.of("src/main/resources/web");
  private static final long LARGEST = 350_000;

  @Test
  void theListNamesEveryFile() throws IOException {
    var names = new TreeSet<String>();
    try (var files = Files.walk(FOLDER)) {
      files
          .filter(Files::isRegularFile)
          .map(file -> FOLDER.relativize(file).toString())
          .filter(name -> !List.of("files.txt", "vendor/VERSIONS.txt").contains(name))
          .forEach(names::add);
    }
    if (System.getenv("ZLAYER_UPDATE_DOCS") != null) {
      Files.writeString(FOLDER.resolve("files.txt"), String.join("\n", names) + "\n");
    }
    assertThat(Files.readAllLines(FOLDER.resolve("files.txt")))
        .as("renew it with ZLAYER_UPDATE_DOCS=1")
        .containsExactlyElementsOf(names);
  }

  @Test
  void librariesAreThePublishedFilesWithTheirLicences() throws IOException {
    var known = new TreeSet<String>();
    for (String line : Files.readAllLines(FOLDER.resolve("vendor/VERSIONS.txt"))) {
      String[] words = line.split(" ", -1);
      assertThat(StaticFiles.sha256Hex(StaticFiles.resource("vendor/" + words[3])))
          .as(line)
          .isEqualTo(words[4]);
      known.add("vendor/" + words[3]);
    }
    assertThat(StaticFiles.names().stream().filter(name -> name.startsWith("vendor/")))
        .allMatch(name -> known.contains(name) || name.startsWith("vendor/LICENSE-"));
    assertThat(StaticFiles.names())
        .contains(
            "vendor/LICENSE-preact.txt",
            "vendor/LICENSE-signals.txt",
            "vendor/LICENSE-htm.txt",
            "vendor/LICENSE-uplot.txt",
            "vendor/LICENSE-xterm.txt");
  }

  @Test
  void thePageIsSmall() {
    assertThat(StaticFiles.load().compressedBytes()).isLessThan(LARGEST);
  }

  /** Without it a browser learns of each script only when it has read the one that imports it. */
  @Test
  void thePageNamesEveryScriptOfItsFirstView() {
    var needed = new TreeSet<String>();
    var open = new ArrayDeque<>(List.of("app.js"));
    while (!open.isEmpty()) {
      String name = open.pop();
      if (needed.add(name)) {
        open.addAll(imports(name));
      }
    }
    var named = new TreeSet<String>();
    Matcher links =
        Pattern.compile("<link rel=\"modulepreload\" href=\"@FILES@/(.*)\">")
            .matcher(text("index.html"));
    while (links.find()) {
      named.add(links.group(1));
    }

    assertThat(named).isEqualTo(needed);
    assertThat(named).doesNotContain("vendor/xterm.mjs", "vendor/uplot.mjs");
  }

  private static List<String> imports(String name) {
    var found = new ArrayList<String>();
    Matcher from = Pattern.compile("(?:from|import)\\s*\"([^\"]+)\"").matcher(text(name));
    while (from.find()) {
      Matcher mapped =
          Pattern.compile("\"" + Pattern.quote(from.group(1)) + "\": \"./@FILES@/(.*)\"")
              .matcher(text("index.html"));
      found.add(
          mapped.find()
              ? mapped.group(1)
              : Path.of(name).resolveSibling(from.group(1)).normalize().toString());
    }
    return found;
  }

  private static String text(String name) {
    return new String(StaticFiles.resource(name), StandardCharsets.UTF_8);
  }

  @Test
  void ourOwnFilesHaveNoInlineCodeAndLoadNothingFromElsewhere() {
    for (String name : StaticFiles.names()) {
      if (name.startsWith("vendor/")) {
        continue;
      }
      String text = new String(StaticFiles.resource(name), StandardCharsets.UTF_8);
      assertThat(text)
          .as(name)
          .doesNotContain("https://")
          .doesNotContain("innerHTML")
          .doesNotContain("dangerouslySetInnerHTML")
          .doesNotContain("insertAdjacentHTML")
          .doesNotContain("document.write")
          .doesNotContain("eval(")
          .doesNotContain(" style=");
    }
    assertThat(new String(StaticFiles.resource("index.html"), StandardCharsets.UTF_8))
        .doesNotContain(" onclick")
        .containsOnlyOnce("<script type=\"importmap\">")
        .containsOnlyOnce("<script type=\"module\" src=");
  }
}
