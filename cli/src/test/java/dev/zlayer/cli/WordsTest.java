package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * What a person reads uses the words of the field: texts in shipped code and all documents. A word
 * on this list says less than the one beside it.
 */
class WordsTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  private static final List<String> SHIPPED =
      List.of("core", "host", "image", "runtime", "engine", "proxy", "cluster", "daemon", "cli");

  private static final Map<String, String> INSTEAD =
      Map.ofEntries(
          Map.entry("doors?", "listener, endpoint, port"),
          Map.entry("shel(f|ves)", "store, lookup"),
          Map.entry("desk", "callbacks"),
          Map.entry("wish(es)?", "request"),
          Map.entry("departure", "disconnect"),
          Map.entry("harvest", "collect"),
          Map.entry("leftovers?", "orphans, what remains"),
          Map.entry("tells", "reports, logs, emits"),
          Map.entry("leads? to", "routes, forwards, publishes"),
          Map.entry("tak(e|es|en|ing) away", "removed"),
          Map.entry("as wanted", "ready"),
          Map.entry("in vain", "timed out, gave up"),
          Map.entry("gone", "removed, exited, does not exist"),
          Map.entry("nobody knows", "unknown"),
          Map.entry("ma(k|d)es? (it )?true", "apply"),
          Map.entry("look(s|ing)? at", "read, inspect"),
          Map.entry("comes? up", "starts"),
          Map.entry("go(es)? on", "continues, keeps running"));

  private static final Pattern WORDS =
      Pattern.compile(
          "\\b(" + String.join("|", INSTEAD.keySet()) + ")\\b", Pattern.CASE_INSENSITIVE);

  private static final Pattern COMMENT_OR_TEXT =
      Pattern.compile(
          "(?s)/\\*.*?\\*/|//[^\\n]*|(\"\"\".*?(?<!\\\\)\"\"\"|\"(?:[^\"\\\\\\n]|\\\\.)*\")");

  /** Texts that no person reads: names in files of earlier versions and words of a protocol. */
  private static final List<String> ALLOWED =
      List.of("\"doors\"", "\"doors.json\"", "|| echo gone; done");

  @Test
  void textsOfTheProgramUseTheWordsOfTheField() throws IOException {
    var found = new ArrayList<String>();
    for (String module : SHIPPED) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(module).resolve("src/main/java"))) {
        for (Path file : files.filter(path -> path.toString().endsWith(".java")).toList()) {
          for (String text : texts(Files.readString(file))) {
            found.addAll(problems(file, text));
          }
        }
      }
    }
    assertThat(found).isEmpty();
  }

  @Test
  void documentsUseTheWordsOfTheField() throws IOException {
    var found = new ArrayList<String>();
    try (Stream<Path> top = Files.list(ROOT);
        Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
      for (Path page :
          Stream.concat(top, docs).filter(file -> file.toString().endsWith(".md")).toList()) {
        for (String line : Files.readAllLines(page)) {
          found.addAll(problems(page, line));
        }
      }
    }
    assertThat(found).isEmpty();
  }

  @Test
  void theCheckFindsWordsInTextsAndNotInCode() {
    List<String> texts =
        texts("door(); // a door\nfail(\"this door\" + \"\"\"\n  one more\n\"\"\");");
    assertThat(texts).hasSize(2);
    assertThat(problems(ROOT.resolve("X.java"), texts.getFirst()))
        .containsExactly(
            "X.java: \"this door\": instead of 'door' write: listener, endpoint, port");
    assertThat(problems(ROOT.resolve("X.java"), texts.getLast())).isEmpty();
  }

  private static List<String> texts(String source) {
    return COMMENT_OR_TEXT
        .matcher(source)
        .results()
        .filter(match -> match.group(1) != null)
        .map(MatchResult::group)
        .toList();
  }

  private static List<String> problems(Path file, String text) {
    var problems = new ArrayList<String>();
    Matcher matcher = WORDS.matcher(text);
    while (matcher.find()) {
      if (ALLOWED.stream().noneMatch(text::contains)) {
        String word = matcher.group();
        String instead =
            INSTEAD.entrySet().stream()
                .filter(entry -> word.toLowerCase(java.util.Locale.ROOT).matches(entry.getKey()))
                .map(Map.Entry::getValue)
                .findFirst()
                .orElseThrow();
        problems.add(
            "%s: %s: instead of '%s' write: %s"
                .formatted(ROOT.relativize(file), text.strip(), word, instead));
      }
    }
    return problems;
  }
}
