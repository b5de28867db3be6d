package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * What the documents promise is there: pages, headings, files, and verbs that are typed in them.
 */
class DocumentsTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern LINK = Pattern.compile("\\[[^\\]]*\\]\\(([^)\\s]+)\\)");
  private static final Pattern TYPED = Pattern.compile("(?m)(?:^\\$ |`)(?:\\./)?zlayer ([a-z]+)");

  private static List<Path> documents() throws IOException {
    var all = new ArrayList<Path>();
    try (Stream<Path> top = Files.list(ROOT);
        Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
      Stream.concat(top, docs).filter(file -> file.toString().endsWith(".md")).forEach(all::add);
    }
    return all;
  }

  @Test
  void linksLeadSomewhere() throws IOException {
    var broken = new ArrayList<String>();
    for (Path document : documents()) {
      Matcher links = LINK.matcher(Files.readString(document));
      while (links.find()) {
        String link = links.group(1);
        if (!link.matches("[a-z]+:.*") && !leadsSomewhere(document, link)) {
          broken.add(ROOT.relativize(document) + ": " + link);
        }
      }
    }
    assertThat(broken).isEmpty();
  }

  private static boolean leadsSomewhere(Path document, String link) throws IOException {
    String[] parts = link.split("#", 2);
    Path target = parts[0].isEmpty() ? document : document.resolveSibling(parts[0]);
    return Files.exists(target) && (parts.length == 1 || hasHeading(target, parts[1]));
  }

  private static boolean hasHeading(Path page, String anchor) throws IOException {
    return Files.readAllLines(page).stream()
        .filter(line -> line.startsWith("#"))
        .map(line -> line.replaceFirst("^#+ ", "").toLowerCase(Locale.ROOT))
        .map(title -> title.replaceAll("[^\\w\\- ]", "").replace(' ', '-'))
        .anyMatch(anchor::equals);
  }

  @Test
  void verbsThatAreTypedExist() throws IOException {
    for (Path document : documents()) {
      Matcher typed = TYPED.matcher(Files.readString(document));
      while (typed.find()) {
        String word = typed.group(1);
        assertThat(word.equals("help") || Verb.find(word).isPresent())
            .as(ROOT.relativize(document) + ": zlayer " + word)
            .isTrue();
      }
    }
  }
}
