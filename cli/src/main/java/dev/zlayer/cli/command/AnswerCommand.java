package dev.zlayer.cli.command;

import dev.zlayer.cli.Session;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.List;
import java.util.function.Supplier;
import picocli.CommandLine.Option;

/** A verb whose answer people read as text and programs as JSON. */
public abstract class AnswerCommand extends ClientCommand {
  @Option(names = "--json", description = "Print JSON")
  protected boolean json;

  protected AnswerCommand(Session session) {
    super(session);
  }

  /** The daemon's answer as it is, or as text for people. */
  protected final void show(Json answer, Supplier<String> text) {
    session.out().print(json ? JsonText.pretty(answer) : text.get());
  }

  /** The items of an answer that is a list, or an object with one list under that name. */
  protected static List<Json> items(Json answer, String name) {
    return answer instanceof Json.Arr ? answer.items() : answer.at(name).items();
  }

  protected static String text(Json json, String name) {
    return json.at(name).string().filter(value -> !value.isEmpty()).orElse("-");
  }

  protected static String number(Json json, String name) {
    return json.at(name).integer().map(value -> Long.toString(value)).orElse("-");
  }
}
