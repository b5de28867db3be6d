package dev.zlayer.cli.print;

import dev.zlayer.port.PullEvent;
import java.util.function.Consumer;

/** One line per layer that is finished, and per notice. */
final class PlainPullView extends PullView {
  private final Consumer<String> out;

  PlainPullView(Consumer<String> out) {
    this.out = out;
  }

  @Override
  void show(PullEvent event) {
    switch (event) {
      case PullEvent.Resolved(var manifest, int count, long bytes) ->
          out.accept(
              "resolved %s: %d layer%s, %s%n"
                  .formatted(manifest, count, count == 1 ? "" : "s", HumanUnits.bytes(bytes)));
      case PullEvent.LayerProgress(var layer, var step, _, long total) -> {
        if (step == PullEvent.Step.PRESENT) {
          out.accept("%s: already present%n".formatted(layer.brief()));
        } else if (step == PullEvent.Step.DONE) {
          out.accept("%s: done, %s%n".formatted(layer.brief(), HumanUnits.bytes(total)));
        }
      }
      case PullEvent.Notice(String text) -> out.accept(TerminalText.escapeLine(text) + "\n");
    }
  }
}
