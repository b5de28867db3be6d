package dev.zlayer.cli.print;

import java.util.ArrayList;
import java.util.List;

/** A deployment on its way as lines for a terminal. Pure. */
public final class DeployView {
  private static final int BAR = 24;

  private DeployView() {}

  public static List<String> lines(DeployModel model, Style style) {
    var lines = new ArrayList<String>();
    var table = new Table("SERVICE", "STATE", "READY", "");
    for (DeployModel.ServiceLine service : model.services()) {
      table.row(
          service.name(),
          style.state(service.state()),
          service.ready() + "/" + service.wanted(),
          DeployModel.firstLine(service.note()));
    }
    lines.addAll(table.toString().lines().toList());
    for (DeployModel.Pull pull : model.pulls()) {
      lines.add(line(pull));
    }
    return lines;
  }

  private static String line(DeployModel.Pull pull) {
    double share = pull.total() <= 0 ? 0 : Math.min(1, (double) pull.done() / pull.total());
    int filled = (int) Math.round(share * BAR);
    return "pulling %s [%s%s] %s of %s"
        .formatted(
            pull.image(),
            "#".repeat(filled),
            " ".repeat(BAR - filled),
            HumanUnits.bytes(pull.done()),
            HumanUnits.bytes(pull.total()));
  }
}
