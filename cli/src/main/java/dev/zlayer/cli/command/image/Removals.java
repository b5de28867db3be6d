package dev.zlayer.cli.command.image;

import dev.zlayer.port.ImageRemoval;
import java.io.PrintStream;

/** What went away, a line each. */
final class Removals {
  private Removals() {}

  static void print(ImageRemoval removal, PrintStream out) {
    removal.untagged().forEach(name -> out.println("untagged " + name));
    removal.deleted().forEach(digest -> out.println("deleted " + digest));
  }
}
