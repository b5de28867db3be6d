package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** What is bound without picocli is what picocli would have bound. */
class CommandModelTest {
  @TempDir Path directory;

  @Test
  void everyVerbHasAModelButTheDaemonAndTwoWithRequiredOptions() {
    Map<String, String> models = CommandModel.of(grammar());
    assertThat(verbs(grammar()).keySet())
        .filteredOn(verb -> !models.containsKey(verb))
        .allMatch(verb -> List.of("serve", "token create", "context create").contains(verb));
    assertThat(models.get("ps"))
        .contains("\n--all flag dev.zlayer.cli.command.container.PsCommand#all\n");
  }

  /** Those in the help of verbs, which the reference repeats. */
  @Test
  void everyExampleIsACommandThatItsVerbTakes() throws Exception {
    var example = Pattern.compile("(?:Examples?:)? *zlayer (.*?)(?: {2,}.*| [<>|&].*)?");
    var word = Pattern.compile("'([^']*)'|\"([^\"]*)\"\\S*|\\S+");
    int count = 0;
    for (String line : Files.readAllLines(Path.of("..", "docs", "cli.md"))) {
      Matcher written = example.matcher(line);
      if (written.matches()) {
        String[] words =
            word.matcher(written.group(1))
                .results()
                .map(found -> found.group(1) == null ? found.group() : found.group(1))
                .toArray(String[]::new);
        assertThatCode(() -> grammar().parseArgs(words)).as(line).doesNotThrowAnyException();
        count++;
      }
    }
    assertThat(count).isGreaterThan(50);
  }

  @Test
  void everyOptionOfEveryVerbIsBoundAsPicocliDoes() {
    var bound = new ArrayList<String>();
    Map<String, CommandLine> verbs = verbs(grammar());
    CommandModel.of(grammar())
        .forEach(
            (verb, model) -> {
              CommandSpec spec = verbs.get(verb).getCommandSpec();
              for (OptionSpec option : spec.options()) {
                for (List<String> words : notations(spec, option)) {
                  if (same(verb, model, words)) {
                    bound.add(verb + " " + words);
                  }
                }
              }
              assertThat(same(verb, model, arguments(spec))).as(verb).isTrue();
            });
    assertThat(bound).hasSizeGreaterThan(1000);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "run --rm -it --name x -p 80:80 -e A=1 -e B=2 image sh -c true",
        "run image --rm -- -x",
        "run -itd image",
        "run -eA=1 -p80:80 image a",
        "exec -it web sh -c exit",
        "exec web true --rm",
        "ps --all shop --filter a=b --filter c=d",
        "ps shop -aq",
        "stop a --time 3 b c",
        "logs -f --tail=5 shop/web",
        "logs -fn 5 shop/web",
        "job run --wait shop/report a b",
        "job run shop/report --wait a",
        "cp a:/b c",
        "image ls -q",
        "pull --policy NEWER image",
        "completions zsh",
      })
  void aLineIsBoundAsPicocliDoes(String line) {
    List<String> words = List.of(line.split(" "));
    Map<String, String> models = CommandModel.of(grammar());
    int length = models.containsKey(words.getFirst()) ? 1 : 2;
    String verb = String.join(" ", words.subList(0, length));
    boolean bound = same(verb, models.get(verb), words.subList(length, words.size()));
    assertThat(bound).isEqualTo(!words.contains("--"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ps --no-such",
        "ps --help",
        "ps -h",
        "ps a b",
        "ps --all --all",
        "ps -x",
        "ps -",
        "ps --",
        "ps @file",
        "ps --filter",
        "ps --filter=",
        "ps --filter --all",
        "ps --all=true",
        "stop",
        "events --tail x",
        "events --tail 010",
        "run --rm",
        "run --pull sometimes image",
        "logs --tail -1 web",
      })
  void whatNeedsAnExplanationIsLeftToPicocli(String line) {
    List<String> words = List.of(line.split(" "));
    String model = CommandModel.of(grammar()).get(words.getFirst());
    Optional<Callable<Integer>> bound =
        ArgumentBinder.bind(
            model,
            words.subList(1, words.size()),
            () -> {
              throw new AssertionError("made for " + line);
            });
    assertThat(bound).isEmpty();
  }

  /** Whether it was bound without picocli; then it is held against what picocli binds. */
  private boolean same(String verb, String model, List<String> words) {
    Object command = command(verb);
    Optional<Callable<Integer>> bound = ArgumentBinder.bind(model, words, () -> command);
    if (bound.isEmpty()) {
      return false;
    }
    CommandLine theirs = verb(verb);
    var all = new ArrayList<>(List.of(verb.split(" ")));
    all.addAll(words);
    root(theirs).parseArgs(all.toArray(String[]::new));
    assertThat(values(theirs.getCommandSpec(), command))
        .as(verb + " " + words)
        .isEqualTo(values(theirs.getCommandSpec(), theirs.getCommandSpec().userObject()));
    return true;
  }

  private Object command(String words) {
    Session session = CliFixture.session(directory);
    Verb verb = Verb.find(words.split(" ")[0]).orElseThrow();
    return verb.group()
        .map(group -> group.verb(session, words.split(" ")[1]))
        .orElseGet(() -> verb.command(session));
  }

  /** One verb below a root, as it is built when it is typed. */
  private CommandLine verb(String verb) {
    List<String> words = List.of(verb.split(" "));
    Optional<String> below = words.stream().skip(1).findFirst();
    CommandLine line =
        Verb.find(words.getFirst()).orElseThrow().make(CliFixture.session(directory), below);
    new CommandLine(CommandSpec.create())
        .addSubcommand(words.getFirst(), line)
        .setCaseInsensitiveEnumValuesAllowed(true);
    return below.map(word -> line.getSubcommands().get(word)).orElse(line);
  }

  private static CommandLine root(CommandLine line) {
    return line.getCommandSpec().root().commandLine();
  }

  private static List<List<String>> notations(CommandSpec spec, OptionSpec option) {
    List<String> arguments = arguments(spec);
    var lines = new ArrayList<List<String>>();
    for (String name : option.names()) {
      Stream<List<String>> forms =
          option.arity().max() == 0
              ? Stream.of(List.of(name))
              : name.startsWith("--")
                  ? Stream.of(List.of(name, value(option)), List.of(name + "=" + value(option)))
                  : Stream.of(List.of(name, value(option)), List.of(name + value(option)));
      forms.forEach(
          form -> {
            var line = new ArrayList<>(form);
            line.addAll(arguments);
            lines.add(line);
          });
    }
    return lines;
  }

  private static List<String> arguments(CommandSpec spec) {
    return spec.positionalParameters().stream()
        .flatMap(
            argument ->
                argument.isMultiValue()
                    ? Stream.of(value(argument), value(argument))
                    : Stream.of(value(argument)))
        .toList();
  }

  private static String value(ArgSpec argument) {
    Class<?> type = argument.typeInfo().getType();
    return type.isEnum()
        ? type.getEnumConstants()[0].toString().toLowerCase(java.util.Locale.ROOT)
        : Number.class.isAssignableFrom(type) || type == int.class ? "7" : "some=text";
  }

  private static Map<String, Object> values(CommandSpec spec, Object command) {
    var values = new LinkedHashMap<String, Object>();
    spec.options().stream()
        .filter(option -> !option.usageHelp())
        .forEach(option -> values.put(option.longestName(), value(option, command)));
    spec.positionalParameters()
        .forEach(argument -> values.put(argument.index() + "", value(argument, command)));
    return values;
  }

  private static Object value(ArgSpec argument, Object command) {
    try {
      Field field = (Field) argument.userObject();
      field.setAccessible(true);
      Object owner =
          field.getDeclaringClass().isInstance(command)
              ? command
              : mixin(command, field.getDeclaringClass());
      return String.valueOf(field.get(owner));
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  private static Object mixin(Object command, Class<?> type) throws ReflectiveOperationException {
    for (Class<?> one = command.getClass(); one != Object.class; one = one.getSuperclass()) {
      for (Field field : one.getDeclaredFields()) {
        if (field.isAnnotationPresent(Mixin.class) && field.getType() == type) {
          field.setAccessible(true);
          return field.get(command);
        }
      }
    }
    throw new AssertionError("no mixin of " + type);
  }

  private static Map<String, CommandLine> verbs(CommandLine grammar) {
    var verbs = new LinkedHashMap<String, CommandLine>();
    for (Verb verb : Verb.values()) {
      CommandLine line = grammar.getSubcommands().get(verb.word);
      verb.group()
          .ifPresentOrElse(
              group ->
                  group
                      .words()
                      .forEach(
                          below ->
                              verbs.put(verb.word + " " + below, line.getSubcommands().get(below))),
              () -> verbs.put(verb.word, line));
    }
    return verbs;
  }

  private CommandLine grammar() {
    return new Cli(CliFixture.session(directory)).grammar();
  }
}
