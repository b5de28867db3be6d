package dev.zlayer.testkit.cluster;

import dev.zlayer.testkit.cluster.History.Mark;
import dev.zlayer.testkit.cluster.History.Start;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/** What containers of all nodes wrote into the shared directory. */
final class FaultRecords {
  /** A container writes every second. */
  private static final double RECENT = 4;

  private FaultRecords() {}

  static List<Mark> marks(Path shared) throws IOException {
    var marks = new ArrayList<Mark>();
    for (String[] words : records(shared.resolve("marks"), 4)) {
      marks.add(
          new Mark(words[0], words[1], Mark.Kind.valueOf(words[2]), Double.parseDouble(words[3])));
    }
    return marks;
  }

  static List<Start> starts(Path shared) throws IOException {
    var starts = new ArrayList<Start>();
    for (String[] words : records(shared.resolve("starts"), 2)) {
      starts.add(new Start(words[0], Double.parseDouble(words[1])));
    }
    return starts;
  }

  static int ticks(Path shared) throws IOException {
    return records(shared.resolve("ticks"), 1).size();
  }

  /** How many containers of a service run, as they say themselves. */
  static long running(Path shared, String service) throws IOException {
    double now = Host.now();
    var last = new TreeMap<String, Mark>();
    for (Mark mark : marks(shared)) {
      if (mark.service().equals(service)) {
        last.put(mark.container(), mark);
      }
    }
    return last.values().stream()
        .filter(mark -> mark.kind() != Mark.Kind.STOP && mark.time() > now - RECENT)
        .count();
  }

  /** Lines with that many words; whoever was killed while writing left a part of one. */
  private static List<String[]> records(Path file, int words) throws IOException {
    var records = new ArrayList<String[]>();
    for (String line : Files.readAllLines(file)) {
      String[] found = line.split(" ", -1);
      if (found.length == words) {
        records.add(found);
      }
    }
    return records;
  }
}
