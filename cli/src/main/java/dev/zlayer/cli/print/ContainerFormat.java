package dev.zlayer.cli.print;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Containers in the form that somebody asks for: {@code {{.Name}} {{.State}}}. Pure. */
public final class ContainerFormat {
  private static final Pattern FIELD = Pattern.compile("\\{\\{\\s*(json )?\\.(\\w*)\\s*}}");
  private static final String TABLE = "table ";

  private static final Map<String, BiFunction<Json, Instant, String>> FIELDS = fields();

  private ContainerFormat() {}

  private static Map<String, BiFunction<Json, Instant, String>> fields() {
    var fields = new LinkedHashMap<String, BiFunction<Json, Instant, String>>();
    fields.put("ID", (one, _) -> StatusText.text(one, "id"));
    fields.put("Name", (one, _) -> Names.of(one));
    fields.put("Names", (one, _) -> Names.of(one));
    fields.put("Image", (one, _) -> StatusText.text(one, "image"));
    fields.put("Command", (one, _) -> String.join(" ", one.at("command").strings()));
    fields.put("State", (one, _) -> StatusText.text(one, "state"));
    fields.put("Status", (one, _) -> ContainerTable.state(one));
    fields.put("Health", (one, _) -> StatusText.text(one, "health"));
    fields.put("Restarts", (one, _) -> StatusText.number(one, "restarts"));
    fields.put("RunningFor", ContainerTable::age);
    fields.put("CreatedAt", (one, _) -> StatusText.text(one, "created"));
    fields.put("Ports", (one, _) -> Ports.of(one));
    fields.put("IP", (one, _) -> StatusText.text(one, "ip"));
    fields.put("Deployment", (one, _) -> StatusText.text(one, "deployment"));
    fields.put("Service", (one, _) -> StatusText.text(one, "service"));
    fields.put(
        "Labels",
        (one, _) ->
            one.at("labels").members().entrySet().stream()
                .map(label -> label.getKey() + "=" + label.getValue().string().orElse(""))
                .collect(Collectors.joining(",")));
    return fields;
  }

  /**
   * One line for each; {@code json} is a JSON object per line, {@code table ...} has headings.
   *
   * @throws AgentException.InvalidSpec a field does not exist; those that do are named
   */
  public static String of(List<Json> containers, String format, Instant now) {
    List<Json> sorted = Names.sorted(containers);
    if (format.equals("json")) {
      return sorted.stream().map(one -> JsonText.print(one) + "\n").collect(Collectors.joining());
    }
    String form = unescaped(format);
    if (!form.startsWith(TABLE)) {
      return sorted.stream().map(one -> line(form, one, now) + "\n").collect(Collectors.joining());
    }
    String[] cells = form.substring(TABLE.length()).split("\t", -1);
    var headings = new String[cells.length];
    for (int i = 0; i < cells.length; i++) {
      headings[i] = FIELD.matcher(cells[i]).replaceAll(field -> heading(field.group(2)));
    }
    var table = new Table(headings);
    for (Json container : sorted) {
      var row = new String[cells.length];
      for (int i = 0; i < cells.length; i++) {
        row[i] = line(cells[i], container, now);
      }
      table.row(row);
    }
    return table.toString();
  }

  private static String heading(String field) {
    return field.replaceAll("([a-z])([A-Z])", "$1 $2").toUpperCase(java.util.Locale.ROOT);
  }

  private static String line(String form, Json container, Instant now) {
    return FIELD
        .matcher(form)
        .replaceAll(field -> Matcher.quoteReplacement(value(field, container, now)));
  }

  private static String value(java.util.regex.MatchResult field, Json container, Instant now) {
    String name = field.group(2);
    if (name.isEmpty()) {
      return JsonText.print(container);
    }
    BiFunction<Json, Instant, String> known = FIELDS.get(name);
    if (known == null) {
      throw new AgentException.InvalidSpec(
          "--format has no field '%s'; fields are %s"
              .formatted(name, String.join(", ", FIELDS.keySet())));
    }
    String text = known.apply(container, now);
    return field.group(1) == null ? text : JsonText.print(Json.of(text));
  }

  private static String unescaped(String format) {
    return format.replace("\\t", "\t").replace("\\n", "\n");
  }
}
