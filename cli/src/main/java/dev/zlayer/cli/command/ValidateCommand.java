package dev.zlayer.cli.command;

import dev.zlayer.cli.Session;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.compose.ComposeFile;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import dev.zlayer.spec.source.SourceFiles;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "validate",
    description = "Check deployment files and report every problem",
    footer = {
      "",
      "Without FILE, checks the only *.zlayer.yml in the current directory. Exits with 0 if",
      "every file is valid, 2 otherwise. Warnings do not make a file invalid."
    })
public final class ValidateCommand implements Callable<Integer> {
  private final Session session;

  @Option(names = "--json", description = "Print JSON")
  private boolean json;

  @Option(
      names = {"-q", "--quiet"},
      description = "Print problems only")
  private boolean quiet;

  @Mixin private SourceFlags sources = new SourceFlags();

  @Parameters(
      paramLabel = "FILE",
      arity = "0..*",
      description = "File to check; - reads standard input")
  private List<String> files = List.of();

  public ValidateCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    Map<String, SpecResult> results = new LinkedHashMap<>();
    int code = 0;
    for (List<String> names : deployments()) {
      String name = String.join(" + ", names);
      try {
        SpecResult result = result(name, names);
        results.put(name, result);
        if (!json) {
          print(name, result);
        }
        if (refused(result)) {
          code = Blame.REQUEST.exitCode();
        }
      } catch (AgentException e) {
        session.err().println("zlayer: " + e.getMessage());
        code = e.blame().exitCode();
      }
    }
    if (json) {
      var all = new ArrayList<Json>();
      results.forEach((name, result) -> all.add(asJson(name, result)));
      session.out().print(JsonText.pretty(Json.of(all)));
    }
    return code;
  }

  /** The files of each: those of --file are one, every other is its own. */
  private List<List<String>> deployments() {
    var all = new ArrayList<List<String>>();
    files.forEach(file -> all.add(List.of(file)));
    if (files.isEmpty() || !sources.files().isEmpty()) {
      all.add(DeploymentFiles.names(session, List.of(), sources));
    }
    return all;
  }

  private SpecResult result(String name, List<String> names) {
    List<SourceFiles.Source> read = DeploymentFiles.sources(session, names);
    if (!ComposeFile.recognised(read.getFirst().content())) {
      return DeploymentFiles.resolve(session, read, sources).check();
    }
    var converted =
        ComposeFiles.convert(
            session,
            name,
            read.stream().map(SourceFiles.Source::content).toList(),
            DeploymentFiles.directoryOf(session, names.getFirst()),
            Optional.empty(),
            sources);
    if (!converted.unsupported().isEmpty()) {
      return new SpecResult.Invalid(converted.unsupported());
    }
    return SpecReader.read(name, converted.text().getBytes(StandardCharsets.UTF_8));
  }

  /** Whether 'up' would refuse the file. */
  private static boolean refused(SpecResult result) {
    return switch (result) {
      case SpecResult.Invalid _ -> true;
      case SpecResult.Valid valid -> !valid.notHonoured().isEmpty();
    };
  }

  private void print(String name, SpecResult result) {
    switch (result) {
      case SpecResult.Invalid(var problems) -> {
        problems.forEach(session.out()::println);
        session.out().println(name + ": " + count(problems.size(), "problem"));
      }
      case SpecResult.Valid valid -> {
        valid.warnings().forEach(warning -> session.out().println("warning: " + warning));
        valid.notHonoured().forEach(session.out()::println);
        if (refused(valid)) {
          session.out().println(name + ": " + count(valid.notHonoured().size(), "problem"));
        } else if (!quiet) {
          session.out().println(name + ": ok, " + summary(valid.spec()));
        }
      }
    }
  }

  private static String summary(DeploymentSpec spec) {
    Map<RunType, Integer> counts = new LinkedHashMap<>();
    spec.services().values().forEach(service -> counts.merge(service.rtype(), 1, Integer::sum));
    var parts = new ArrayList<String>();
    for (RunType type : RunType.values()) {
      if (counts.containsKey(type)) {
        String noun =
            switch (type) {
              case SERVICE -> "service";
              case JOB -> "job";
              case CRON -> "cron job";
            };
        parts.add(count(counts.get(type), noun));
      }
    }
    return "deployment '%s': %s"
        .formatted(spec.deployment(), parts.isEmpty() ? "empty" : String.join(", ", parts));
  }

  private static String count(int count, String noun) {
    return count + " " + noun + (count == 1 ? "" : "s");
  }

  private static Json asJson(String name, SpecResult result) {
    Json.Builder object = Json.object().put("file", name);
    return switch (result) {
      case SpecResult.Invalid(var problems) ->
          object.put("valid", false).put("problems", asJson(problems)).build();
      case SpecResult.Valid valid ->
          object
              .put("valid", true)
              .put("deployment", valid.spec().deployment())
              .put("services", valid.spec().services().keySet())
              .put("warnings", asJson(valid.remarks()))
              .build();
    };
  }

  private static List<Json.Obj> asJson(List<Problem> problems) {
    return problems.stream()
        .map(
            problem ->
                Json.object()
                    .put("line", problem.line())
                    .put("column", problem.column())
                    .put("path", problem.path())
                    .put("message", problem.message())
                    .build())
        .toList();
  }
}
