package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Every promise of docs/security.md names a test, and each of those exists. */
class PromisesTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern TEST = Pattern.compile("`(\\w+(?:IT|Test))(?:#(\\w+))?`");

  @Test
  void everyPromiseHasATestThatExists() throws IOException {
    Map<String, String> tests = tests();
    List<String> lines = Files.readAllLines(ROOT.resolve("docs/security.md"));
    boolean promises = false;
    int count = 0;
    for (String line : lines) {
      if (line.equals("| promise | test |")) {
        promises = true;
      } else if (!line.startsWith("|")) {
        promises = false;
      } else if (promises && !line.startsWith("|---")) {
        count++;
        assertThat(TEST.matcher(line).results().anyMatch(test -> test.group(2) != null))
            .as("a method of a test beside: %s", line)
            .isTrue();
        assertThat(TEST.matcher(line).results())
            .as("a class alone says nothing of what holds the promise: %s", line)
            .allMatch(test -> test.group(2) != null);
      }
      var named = TEST.matcher(line);
      while (named.find()) {
        assertThat(tests).as(line).containsKey(named.group(1));
        if (named.group(2) != null) {
          assertThat(runs(tests.get(named.group(1)), named.group(2)))
              .as("%s#%s, of: %s", named.group(1), named.group(2), line)
              .isTrue();
        }
      }
    }
    assertThat(count).isGreaterThan(20);
  }

  /** Whether that method is a test, and one that is not switched off. */
  private static boolean runs(String source, String method) {
    var declared = Pattern.compile("(?m)^  (?:public )?void " + method + "\\(").matcher(source);
    if (!declared.find()) {
      return false;
    }
    // the annotations are between the method and the end of what is before it
    String before = source.substring(0, declared.start());
    int begin = Math.max(before.lastIndexOf("\n  }\n"), before.lastIndexOf(";\n\n"));
    String annotations = before.substring(begin + 1);
    return annotations.matches("(?s).*@(\\w+\\.)*(Parameterized|Repeated)?Test\\b.*")
        && !annotations.contains("@Disabled");
  }

  /** The sources of all tests by their names. */
  private static Map<String, String> tests() throws IOException {
    Map<String, String> tests = new TreeMap<>();
    try (var modules = Files.newDirectoryStream(ROOT)) {
      for (Path module : modules) {
        Path sources = module.resolve("src/test/java");
        if (Files.isDirectory(sources)) {
          try (var files = Files.walk(sources)) {
            for (Path file : files.filter(path -> path.toString().endsWith(".java")).toList()) {
              String name = file.getFileName().toString();
              tests.put(
                  name.substring(0, name.length() - ".java".length()), Files.readString(file));
            }
          }
        }
      }
    }
    return tests;
  }
}
