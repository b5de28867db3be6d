package dev.zlayer.cli.command.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What instances wrote about themselves into one file, each line the id of one and the time since
 * the machine started, again and again as long as it ran.
 */
record InstanceLog(List<Instance> instances) {
  /** One that ran at least from its first line to its last. */
  record Instance(String id, double first, double last) {
    private Instance until(double time) {
      return new Instance(id, Math.min(first, time), Math.max(last, time));
    }
  }

  /** In busybox: writes such lines into a file. */
  static String writer(String file) {
    return ("trap \"exit 0\" TERM; id=$(cat /proc/sys/kernel/random/uuid); while :; do read -r up"
            + " rest </proc/uptime; echo \"$id $up\" >>%s; sleep 0.1; done")
        .formatted(file);
  }

  static InstanceLog read(Path file) {
    try {
      return parse(Files.readString(file));
    } catch (NoSuchFileException _) {
      return parse("");
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** In the order in which they began; a line that is not complete yet does not count. */
  static InstanceLog parse(String text) {
    Map<String, Instance> known = new LinkedHashMap<>();
    for (String line : text.substring(0, text.lastIndexOf('\n') + 1).split("\n", -1)) {
      String[] words = line.split(" ", -1);
      if (words.length == 2) {
        double time = Double.parseDouble(words[1]);
        known.merge(
            words[0], new Instance(words[0], time, time), (before, now) -> before.until(now.last));
      }
    }
    var all = new ArrayList<>(known.values());
    all.sort(Comparator.comparingDouble(Instance::first));
    return new InstanceLog(List.copyOf(all));
  }

  Optional<Instance> newest() {
    return instances.isEmpty() ? Optional.empty() : Optional.of(instances.getLast());
  }

  /** Two that ran at the same time. */
  List<String> overlaps() {
    var found = new ArrayList<String>();
    for (int i = 0; i < instances.size(); i++) {
      for (Instance later : instances.subList(i + 1, instances.size())) {
        if (later.first() <= instances.get(i).last()) {
          found.add(instances.get(i) + " and " + later);
        }
      }
    }
    return found;
  }
}
