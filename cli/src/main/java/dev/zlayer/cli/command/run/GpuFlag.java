package dev.zlayer.cli.command.run;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.List;

/**
 * What {@code --gpus} says: {@code all}, a number, or keys and values as Docker has them. A word
 * without a key after {@code device=} is one more device.
 */
final class GpuFlag {
  private static final String FORMS =
      "write all, a number, device=0,1, and after a comma sharing=mps, mps_memory=2Gi,"
          + " mps_threads=25, sharing=time-slice, time_slice=long, model=NAME";

  private GpuFlag() {}

  static Json parse(String text) {
    var devices = new ArrayList<String>();
    var gpu = Json.object();
    String key = "";
    for (String word : text.replace("\"", "").split(",", -1)) {
      int equals = word.indexOf('=');
      String value = word.substring(equals + 1);
      if (equals < 0 && key.equals("device")) {
        devices.add(value);
        continue;
      }
      key = equals < 0 ? bare(text, word) : word.substring(0, equals);
      if (value.isEmpty()) {
        throw misfit(text);
      }
      switch (key) {
        case "all" -> devices.add("all");
        case "device" -> devices.add(value);
        case "count" -> {
          if (value.equals("all") || value.equals("-1")) {
            devices.add("all");
          } else {
            gpu.put("count", number(text, value));
          }
        }
        case "driver" -> expect(text, value, List.of("nvidia"));
        case "capabilities" -> expect(text, value, List.of("gpu", "compute", "utility"));
        case "vendor", "model", "sharing", "time_slice" -> gpu.put(key, value);
        case "mps_memory" -> gpu.put(key, value);
        case "mps_threads" -> gpu.put(key, number(text, value));
        default -> throw misfit(text);
      }
    }
    if (!devices.isEmpty()) {
      gpu.put("devices", devices);
    }
    return gpu.build();
  }

  private static String bare(String text, String word) {
    if (word.equals("all")) {
      return "all";
    }
    if (word.matches("[0-9]+")) {
      return "count";
    }
    throw misfit(text);
  }

  private static int number(String text, String value) {
    if (!value.matches("[0-9]{1,4}")) {
      throw misfit(text);
    }
    return Integer.parseInt(value);
  }

  private static void expect(String text, String value, List<String> known) {
    if (!known.contains(value)) {
      throw misfit(text);
    }
  }

  private static AgentException misfit(String text) {
    return new AgentException.InvalidSpec(
        "--gpus '%s' is not understood; %s".formatted(text, FORMS));
  }
}
