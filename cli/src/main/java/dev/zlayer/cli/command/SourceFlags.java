package dev.zlayer.cli.command;

import dev.zlayer.cli.Session;
import dev.zlayer.spec.compose.Interpolation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import picocli.CommandLine.Option;

/** Which files a deployment is made of, and with which variables and profiles. */
public final class SourceFlags {
  private static final String USUAL = ".env";

  @Option(
      names = {"-f", "--file"},
      paramLabel = "FILE",
      description = "Deployment file; may be repeated, later files are merged over earlier ones")
  private List<String> files = List.of();

  @Option(
      names = "--env-file",
      paramLabel = "FILE",
      description =
          "File of NAME=VALUE lines for $${NAME} in the file (default: .env beside the first file);"
              + " may be repeated")
  private List<String> envFiles = List.of();

  @Option(
      names = "--profile",
      paramLabel = "NAME",
      description = "Include the services of this profile; may be repeated")
  private List<String> profiles = List.of();

  public List<String> files() {
    return files;
  }

  /** Those named here, and in the environment. */
  Set<String> profiles(Session session) {
    var all = new HashSet<>(profiles);
    for (String name : List.of("ZLAYER_PROFILES", "COMPOSE_PROFILES")) {
      session.variable(name).ifPresent(listed -> all.addAll(Arrays.asList(listed.split(",", -1))));
    }
    return all;
  }

  /** The environment goes before files, later files before earlier ones. */
  Map<String, String> variables(Session session, Path directory) {
    var variables = new HashMap<String, String>();
    if (envFiles.isEmpty() && Files.isRegularFile(directory.resolve(USUAL))) {
      add(session, directory.resolve(USUAL).toString(), variables);
    }
    envFiles.forEach(file -> add(session, file, variables));
    variables.putAll(session.env());
    return variables;
  }

  private static void add(Session session, String file, Map<String, String> variables) {
    variables.putAll(Interpolation.lines(DeploymentFiles.text(session, file), session.env()));
  }
}
