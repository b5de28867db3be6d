package dev.zlayer.image.layer;

import dev.zlayer.host.linux.FileKind;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Everything one can see of a tree, as one line per path: type, mode, owner, size, time, link
 * target, device number and content as GNU tools tell them, and extended attributes.
 */
public final class TreeListing {
  private TreeListing() {}

  public static SortedMap<String, String> of(Path tree) throws Exception {
    SortedMap<String, String> lines = new TreeMap<>();
    Map<String, String> firstByInode = new HashMap<>();
    String listed =
        run(tree, "find", ".", "-printf", "%P\\0%y %m %U:%G %T@ links=%n ->%l\\0%s\\0%i\\0");
    String[] fields = listed.split("\0", -1);
    for (int i = 0; i + 3 < fields.length; i += 4) {
      boolean directory = fields[i + 1].startsWith("d");
      lines.put(fields[i], fields[i + 1] + (directory ? "" : " size=" + fields[i + 2]));
    }
    for (int i = 0; i + 3 < fields.length; i += 4) {
      firstByInode.merge(fields[i + 3], fields[i], TreeListing::smaller);
    }
    for (int i = 0; i + 3 < fields.length; i += 4) {
      // which paths are one inode, whatever its number
      lines.merge(fields[i], " inode-of=" + firstByInode.get(fields[i + 3]), String::concat);
    }
    pairs(lines, run(tree, "find", ".", "-type", "f", "-exec", "sha256sum", "-z", "{}", "+"));
    pairs(
        lines,
        run(
            tree,
            "find",
            ".",
            "(",
            "-type",
            "c",
            "-o",
            "-type",
            "b",
            ")",
            "-exec",
            "stat",
            "--printf",
            "%t/%T  %n\\0",
            "{}",
            "+"));
    try (var root = RootedDirectory.open(tree)) {
      attributes(root.root(), "", lines);
    }
    return lines;
  }

  private static String smaller(String one, String other) {
    return one.compareTo(other) <= 0 ? one : other;
  }

  /** Lines {@code fact ./path}, each ended by a zero byte. */
  private static void pairs(SortedMap<String, String> lines, String text) {
    for (String line : text.split("\0", -1)) {
      int gap = line.indexOf("  ");
      if (gap > 0) {
        lines.merge(line.substring(gap + 4), " " + line.substring(0, gap), String::concat);
      }
    }
  }

  private static void attributes(OpenDirectory directory, String path, Map<String, String> lines)
      throws IOException, InterruptedException {
    add(directory, OpenDirectory.SELF, path, lines);
    directory.visit(
        name -> {
          String below = path.isEmpty() ? name : path + "/" + name;
          if (directory.stat(name).kind() == FileKind.DIRECTORY) {
            OpenDirectory entered = directory.enter(name);
            attributes(entered, below, lines);
            entered.close();
          } else {
            add(directory, name, below, lines);
          }
        });
  }

  private static void add(
      OpenDirectory directory, String name, String rawPath, Map<String, String> lines)
      throws IOException {
    String path = new String(rawPath.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
    new TreeMap<>(directory.attributes(name))
        .forEach(
            (attribute, value) ->
                lines.merge(
                    path, " " + attribute + "=" + HexFormat.of().formatHex(value), String::concat));
  }

  public static String run(Path directory, String... arguments) throws InterruptedException {
    return Processes.check(
            Command.of(List.of(arguments)).in(directory), Deadline.after(Duration.ofMinutes(2)))
        .stdout();
  }
}
