package dev.zlayer.cli.command;

import dev.zlayer.cli.Session;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.spec.compose.ComposeFile;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "convert",
    description = "Convert a Compose file to a deployment file",
    footer = {
      "",
      "Examples:",
      "  zlayer convert > shop.zlayer.yml           the compose.yaml in this directory",
      "  zlayer convert -o shop.zlayer.yml docker-compose.yml --profile debug",
      "",
      "Prints the deployment file, and what could not be converted on standard error. Exits",
      "with 0, or with 2 if --strict is given and something could not be converted."
    })
public final class ConvertCommand implements Callable<Integer> {
  private final Session session;

  @Parameters(
      paramLabel = "FILE",
      arity = "0..1",
      description = "Compose file; - reads standard input")
  private @Nullable String file;

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FILE",
      description = "Write to this file, which must not exist")
  private @Nullable String output;

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description = "Name of the deployment (default: the project's)")
  private @Nullable String name;

  @Mixin private SourceFlags sources = new SourceFlags();

  @Option(names = "--strict", description = "Fail if something cannot be converted")
  private boolean strict;

  public ConvertCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    List<String> named = new ArrayList<>(Optional.ofNullable(file).map(List::of).orElse(List.of()));
    named.addAll(sources.files());
    if (named.isEmpty()) {
      named.add(
          ComposeFiles.in(session.directory())
              .orElseThrow(
                  () ->
                      new AgentException.NotFound(
                          "Compose file",
                          "there is no %s in %s, name one"
                              .formatted(ComposeFiles.NAMES.getFirst(), session.directory()))));
    }
    ComposeFile.Converted converted =
        ComposeFiles.convert(
            session,
            String.join(" + ", named),
            named.stream().map(one -> DeploymentFiles.read(session, one)).toList(),
            DeploymentFiles.directoryOf(session, named.getFirst()),
            Optional.ofNullable(name),
            sources);
    List<Problem> problems = new ArrayList<>(converted.unsupported());
    problems.addAll(refused(converted));
    converted.warnings().forEach(warning -> session.err().println("warning: " + warning));
    problems.forEach(problem -> session.err().println("not converted: " + problem));
    if (strict && !problems.isEmpty()) {
      return Blame.REQUEST.exitCode();
    }
    write(converted.text());
    return 0;
  }

  /** What 'up' would refuse in the result. */
  private static List<Problem> refused(ComposeFile.Converted converted) {
    byte[] text = converted.text().getBytes(StandardCharsets.UTF_8);
    return switch (SpecReader.read("result", text)) {
      case SpecResult.Invalid(var problems) -> problems;
      case SpecResult.Valid valid -> valid.notHonoured();
    };
  }

  private void write(String text) {
    if (output == null) {
      session.out().print(text);
      return;
    }
    Path target = session.resolve(output);
    try {
      Files.writeString(target, text, java.nio.file.StandardOpenOption.CREATE_NEW);
    } catch (java.nio.file.FileAlreadyExistsException _) {
      throw new AgentException.Conflict("file '%s' exists; choose another".formatted(output));
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "file '%s' cannot be written: %s".formatted(output, e.getMessage()), e);
    }
  }
}
