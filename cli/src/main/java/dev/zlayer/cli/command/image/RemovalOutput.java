package dev.zlayer.cli.command.image;

import dev.zlayer.json.Json;
import java.io.PrintStream;

/** What went away, a line each. */
final class RemovalOutput {
  private RemovalOutput() {}

  static void print(Json removal, PrintStream out) {
    removal.at("untagged").strings().forEach(name -> out.println("untagged " + name));
    removal.at("deleted").strings().forEach(digest -> out.println("deleted " + digest));
  }
}
