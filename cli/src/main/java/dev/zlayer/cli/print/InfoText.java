package dev.zlayer.cli.print;

import dev.zlayer.json.Json;
import java.util.List;

/** Facts about a node for people. Pure. */
public final class InfoText {
  private InfoText() {}

  public static String of(Json facts) {
    var text = new StringBuilder();
    facts.at("version").string().ifPresent(version -> line(text, "daemon", "version " + version));
    facts.at("data_dir").string().ifPresent(directory -> line(text, "data", directory));
    line(text, "platform", StatusText.text(facts, "platform"));
    line(text, "kernel", StatusText.text(facts, "kernel"));
    line(text, "cgroups", StatusText.text(facts, "cgroups"));
    line(text, "memory", facts.at("memory_bytes").integer().map(HumanUnits::bytes).orElse("-"));
    line(text, "cpus", StatusText.number(facts, "cpus"));
    line(
        text,
        "root",
        facts.at("rootless").bool().orElse(false)
            ? "no: rootless, in namespaces of an ordinary user"
            : yes(facts.at("root")));
    if (!facts.at("limits").isNull()) {
      List<String> limits = facts.at("limits").strings();
      line(text, "limits", limits.isEmpty() ? "no" : String.join(", ", limits));
    }
    line(text, "overlayfs", yes(facts.at("overlayfs")) + because(facts.at("overlayfs_problem")));
    if (facts.at("apparmor").bool().isPresent()) {
      line(
          text,
          "apparmor",
          yes(facts.at("apparmor"))
              + facts.at("apparmor_profile").string().map(name -> ", " + name).orElse("")
              + facts.at("apparmor_problem").string().map(reason -> ": " + reason).orElse(""));
    }
    for (Json runtime : facts.at("runtimes").items()) {
      line(text, "runtime", StatusText.text(runtime, "name") + platforms(runtime));
    }
    facts
        .at("jobs_active")
        .integer()
        .ifPresent(
            active ->
                line(
                    text,
                    "jobs",
                    "%d active, %s waiting"
                        .formatted(active, StatusText.number(facts, "jobs_waiting"))));
    for (String damage : facts.at("damages").strings()) {
      line(text, "damaged", damage);
    }
    text.append('\n').append(parts(facts.at("parts").items())).append('\n');
    facts.at("warnings").strings().forEach(one -> text.append("warning: " + one + "\n"));
    return text.append(verdict(facts)).toString();
  }

  private static Table parts(List<Json> parts) {
    var table = new Table("PART", "VERSION", "NEEDED TO", "STATE");
    for (Json part : parts) {
      String verdict = part.at("verdict").string().map(said -> " (" + said + ")").orElse("");
      table.row(
          StatusText.text(part, "name"),
          StatusText.text(part, "version"),
          StatusText.text(part, "purpose"),
          part.at("path").string().orElseGet(() -> absent(part)) + verdict);
    }
    return table;
  }

  /** Not every part is packaged. */
  private static String absent(Json part) {
    return part.at("package").string().map(name -> "absent: install " + name).orElse("absent");
  }

  private static String platforms(Json runtime) {
    List<String> platforms = runtime.at("platforms").strings();
    return platforms.isEmpty() ? "" : " for " + String.join(", ", platforms);
  }

  private static String verdict(Json facts) {
    List<String> obstacles = facts.at("obstacles").strings();
    if (obstacles.isEmpty()) {
      return facts.at("pid").integer().isPresent()
          ? "containers can run here\n"
          : "containers can run here; no daemon is running, start one with 'zlayer daemon start'\n";
    }
    return "containers cannot run here yet:\n  " + String.join("\n  ", obstacles) + "\n";
  }

  private static String yes(Json fact) {
    return fact.bool().orElse(false) ? "yes" : "no";
  }

  private static String because(Json problem) {
    return problem
        .string()
        .map(reason -> " (every container copies its image): " + reason)
        .orElse("");
  }

  private static void line(StringBuilder text, String title, String value) {
    text.append("%-10s%s%n".formatted(title, value));
  }
}
