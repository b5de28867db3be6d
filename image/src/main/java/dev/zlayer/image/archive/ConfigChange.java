package dev.zlayer.image.archive;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A change of how an image is run, written as an instruction of a Dockerfile: {@code CMD}, {@code
 * ENTRYPOINT}, {@code ENV}, {@code EXPOSE}, {@code LABEL}, {@code STOPSIGNAL}, {@code USER}, {@code
 * VOLUME} or {@code WORKDIR}. Pure.
 */
public record ConfigChange(String instruction, String value) {
  private static final Pattern FORM = Pattern.compile("\\s*([A-Za-z]+)(?:\\s+(.*\\S))?\\s*");
  private static final List<String> KNOWN =
      List.of(
          "CMD", "ENTRYPOINT", "ENV", "EXPOSE", "LABEL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR");

  /** {@code NAME=value}, with quotes around values that have spaces, or {@code NAME value}. */
  private static final Pattern PAIR =
      Pattern.compile("([^\\s=\"]+)=(\"(?:[^\"\\\\]|\\\\.)*+\"|\\S*)");

  private static final Pattern PORT = Pattern.compile("([0-9]{1,5})(/(tcp|udp|sctp))?");

  public static ConfigChange parse(String text) {
    Matcher form = FORM.matcher(text);
    if (!form.matches()) {
      throw invalid(text, "write an instruction such as 'CMD [\"sh\"]'");
    }
    String word = form.group(1).toUpperCase(Locale.ROOT);
    if (!KNOWN.contains(word)) {
      throw invalid(text, "'%s' is not one of %s".formatted(word, String.join(", ", KNOWN)));
    }
    if (form.group(2) == null) {
      throw invalid(text, "%s needs a value".formatted(word));
    }
    var change = new ConfigChange(word, form.group(2));
    change.apply(Map.of()); // a mistake is reported before anything is made
    return change;
  }

  /** The {@code config} member of an image's configuration with this change. */
  Map<String, Json> apply(Map<String, Json> config) {
    var changed = new LinkedHashMap<>(config);
    switch (instruction) {
      case "CMD" -> changed.put("Cmd", Json.of(words()));
      case "ENTRYPOINT" -> {
        changed.put("Entrypoint", Json.of(words()));
        changed.remove("Cmd"); // as a build does: the command belonged to the old one
      }
      case "ENV" -> changed.put("Env", Json.of(env(changed)));
      case "LABEL" -> {
        var labels = members(changed, "Labels");
        pairs().forEach((name, label) -> labels.put(name, Json.of(label)));
        changed.put("Labels", new Json.Obj(labels));
      }
      case "EXPOSE" -> {
        var ports = members(changed, "ExposedPorts");
        for (String port : value.split("\\s+", -1)) {
          ports.put(port(port), Json.object().build());
        }
        changed.put("ExposedPorts", new Json.Obj(ports));
      }
      case "VOLUME" -> {
        var volumes = members(changed, "Volumes");
        List<String> paths = value.startsWith("[") ? words() : List.of(value.split("\\s+", -1));
        for (String path : paths) {
          volumes.put(absolute(path), Json.object().build());
        }
        changed.put("Volumes", new Json.Obj(volumes));
      }
      case "STOPSIGNAL" -> changed.put("StopSignal", Json.of(value));
      case "USER" -> changed.put("User", Json.of(value));
      case "WORKDIR" -> changed.put("WorkingDir", Json.of(absolute(value)));
      default -> throw new IllegalStateException(instruction);
    }
    return changed;
  }

  /** A list as JSON, or a line for the shell. */
  private List<String> words() {
    if (!value.startsWith("[")) {
      return List.of("/bin/sh", "-c", value);
    }
    try {
      Json list = JsonText.parse(value);
      if (list.items().stream().allMatch(item -> item.string().isPresent())) {
        return list.strings();
      }
    } catch (AgentException.InvalidSpec _) {
      // said below
    }
    throw invalid(
        toString(), "the list is not JSON with strings, write for example [\"sh\", \"-c\"]");
  }

  private List<String> env(Map<String, Json> config) {
    var all = new LinkedHashMap<String, String>();
    Json before = config.getOrDefault("Env", Json.Null.INSTANCE);
    for (String pair : before.strings()) {
      String[] parts = pair.split("=", 2);
      all.put(parts[0], parts.length == 2 ? parts[1] : "");
    }
    all.putAll(pairs());
    var env = new ArrayList<String>();
    all.forEach((name, text) -> env.add(name + "=" + text));
    return env;
  }

  private Map<String, String> pairs() {
    var pairs = new LinkedHashMap<String, String>();
    if (!value.split("\\s+", 2)[0].contains("=")) {
      String[] parts = value.split("\\s+", 2);
      if (parts.length < 2) {
        throw invalid(toString(), "'%s' has no value, write NAME=value".formatted(value));
      }
      pairs.put(parts[0], parts[1]);
      return pairs;
    }
    Matcher pair = PAIR.matcher(value);
    int at = 0;
    while (pair.find(at) && value.substring(at, pair.start()).isBlank()) {
      String text = pair.group(2);
      pairs.put(
          pair.group(1),
          text.startsWith("\"") && text.endsWith("\"") && text.length() > 1
              ? text.substring(1, text.length() - 1).replaceAll("\\\\(.)", "$1")
              : text);
      at = pair.end();
    }
    if (pairs.isEmpty() || !value.substring(at).isBlank()) {
      throw invalid(toString(), "'%s' is not NAME=value".formatted(value.substring(at).strip()));
    }
    return pairs;
  }

  private String port(String text) {
    Matcher form = PORT.matcher(text);
    if (!form.matches() || Integer.parseInt(form.group(1)) > 65_535) {
      throw invalid(toString(), "'%s' is not PORT[/tcp|/udp]".formatted(text));
    }
    return form.group(1) + (form.group(2) == null ? "/tcp" : form.group(2));
  }

  private String absolute(String path) {
    if (!path.startsWith("/")) {
      throw invalid(toString(), "'%s' is not an absolute path".formatted(path));
    }
    return path;
  }

  private static Map<String, Json> members(Map<String, Json> config, String name) {
    return new LinkedHashMap<>(config.getOrDefault(name, Json.Null.INSTANCE).members());
  }

  private static AgentException.InvalidSpec invalid(String text, String reason) {
    return new AgentException.InvalidSpec("change '%s': %s".formatted(text.strip(), reason));
  }

  @Override
  public String toString() {
    return instruction + " " + value;
  }
}
