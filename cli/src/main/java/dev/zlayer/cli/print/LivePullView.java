package dev.zlayer.cli.print;

import dev.zlayer.port.PullEvent;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.function.Consumer;

/** Bars of the layers under way, drawn over themselves at most twenty times a second. */
final class LivePullView extends PullView {
  private static final int BAR = 24;
  private static final int MOST_LINES = 12;
  private static final Duration FRAME = Duration.ofMillis(50);
  private static final String CLEAR_LINE = "\033[2K";

  private final Consumer<String> out;
  private int drawn;
  private Deadline nextFrame = Deadline.after(Duration.ZERO);

  LivePullView(Consumer<String> out) {
    this.out = out;
  }

  @Override
  void show(PullEvent event) {
    if (event instanceof PullEvent.Notice(String text)) {
      out.accept(up() + CLEAR_LINE + TerminalText.escapeLine(text) + "\n" + frame());
    } else if (nextFrame.passed()) {
      nextFrame = Deadline.after(FRAME);
      out.accept(up() + frame());
    }
  }

  /** Leaves only the summary behind. */
  @Override
  public synchronized void close() {
    if (drawn > 0) {
      out.accept(up() + "\033[J" + summary());
      drawn = 0;
    }
  }

  private String up() {
    return drawn == 0 ? "" : "\033[" + drawn + "A";
  }

  private String frame() {
    var text = new StringBuilder();
    int lines = 0;
    for (PullEvent.LayerProgress layer : layers()) {
      boolean active =
          switch (layer.step()) {
            case DOWNLOADING, VERIFYING, UNPACKING -> true;
            case PRESENT, WAITING, DONE -> false;
          };
      if (active && lines < MOST_LINES) {
        text.append(CLEAR_LINE).append(line(layer));
        lines++;
      }
    }
    text.append(CLEAR_LINE).append(summary());
    drawn = lines + 1;
    return text.append("\033[J").toString();
  }

  private static String line(PullEvent.LayerProgress layer) {
    double share = layer.total() <= 0 ? 0 : Math.min(1, (double) layer.done() / layer.total());
    int filled = (int) Math.round(share * BAR);
    String step =
        switch (layer.step()) {
          case DOWNLOADING -> "downloading";
          case VERIFYING -> "verifying";
          case UNPACKING -> "unpacking";
          case PRESENT, WAITING, DONE -> "";
        };
    return "  %s  %-11s [%s%s] %s of %s%n"
        .formatted(
            layer.layer().brief(),
            step,
            "#".repeat(filled),
            " ".repeat(BAR - filled),
            HumanUnits.bytes(layer.done()),
            HumanUnits.bytes(layer.total()));
  }

  private String summary() {
    return "%d of %d layers, %s of %s%n"
        .formatted(
            finishedCount(),
            layerCount(),
            HumanUnits.bytes(doneBytes()),
            HumanUnits.bytes(totalBytes()));
  }
}
