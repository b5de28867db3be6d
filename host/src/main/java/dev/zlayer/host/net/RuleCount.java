package dev.zlayer.host.net;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How many rules each chain of some tables has, counted in a script of nft or in what nft lists: by
 * comparing both it is known whether somebody removed what we wrote.
 *
 * @param tables by family and name, each with its chains
 */
public record RuleCount(Map<String, Map<String, Integer>> tables) {
  private static final Pattern TABLE = Pattern.compile("table (\\S+ \\S+) \\{");
  private static final Pattern CHAIN = Pattern.compile("chain (\\S+) \\{.*");

  /** The tables that a text has with their content. */
  public static RuleCount of(String text) {
    var tables = new TreeMap<String, Map<String, Integer>>();
    Map<String, Integer> chains = new TreeMap<>();
    String chain = "";
    int depth = 0;
    for (String line : text.lines().map(String::strip).toList()) {
      if (depth == 0) {
        Matcher table = TABLE.matcher(line);
        if (table.matches()) {
          chains = new TreeMap<>();
          tables.put(table.group(1), chains);
        }
      } else if (depth == 1) {
        Matcher found = CHAIN.matcher(line);
        chain = found.matches() ? found.group(1) : "";
        if (!chain.isEmpty()) {
          chains.put(chain, 0);
        }
      } else if (depth == 2 && !chain.isEmpty() && rule(line)) {
        chains.merge(chain, 1, Integer::sum);
      }
      depth += braces(line);
    }
    return new RuleCount(tables);
  }

  private static boolean rule(String line) {
    return !line.isEmpty() && !line.startsWith("}") && !line.startsWith("type ");
  }

  private static int braces(String line) {
    return (int)
        (line.chars().filter(sign -> sign == '{').count()
            - line.chars().filter(sign -> sign == '}').count());
  }

  /**
   * Whether the kernel has as many rules in these tables; without the elements of sets. Each is
   * listed for itself: nft remembers the last one only when one call lists several.
   */
  public boolean present(String nft, Deadline deadline) throws InterruptedException {
    for (var table : tables.entrySet()) {
      var command = new ArrayList<>(List.of(nft, "-t", "list", "table"));
      command.addAll(List.of(table.getKey().split(" ")));
      CommandResult listed = Processes.run(Command.of(command), deadline);
      if (!listed.success()
          || !Map.of(table.getKey(), table.getValue()).equals(of(listed.stdout()).tables())) {
        return false;
      }
    }
    return true;
  }
}
