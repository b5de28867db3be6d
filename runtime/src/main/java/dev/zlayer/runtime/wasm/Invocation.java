package dev.zlayer.runtime.wasm;

import dev.zlayer.container.ProcessSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageDetails.RunConfig;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a module is called with, joined from the image's and the spec's parts. Pure. */
record Invocation(List<String> arguments, Map<String, String> environment) {
  static Invocation of(ProcessSpec process, RunConfig image, ImageRef name) {
    return new Invocation(arguments(process, image, name), environment(process, image));
  }

  /** As for programs; a module that is called nothing is called like its image. */
  private static List<String> arguments(ProcessSpec process, RunConfig image, ImageRef name) {
    List<String> entrypoint = process.entrypoint().orElse(image.entrypoint());
    List<String> args =
        process
            .args()
            .orElseGet(() -> process.entrypoint().isPresent() ? List.of() : image.command());
    var all = new ArrayList<>(entrypoint);
    if (entrypoint.isEmpty() && (process.args().isPresent() || args.isEmpty())) {
      all.add(name.path().substring(name.path().lastIndexOf('/') + 1));
    }
    all.addAll(args);
    for (String word : all) {
      if (word.indexOf('\0') >= 0) {
        throw new AgentException.InvalidSpec("a command cannot contain a NUL character");
      }
    }
    return all;
  }

  private static Map<String, String> environment(ProcessSpec process, RunConfig image) {
    var all = new LinkedHashMap<String, String>();
    for (String line : image.env()) {
      int equals = line.indexOf('=');
      if (equals > 0) {
        all.put(line.substring(0, equals), line.substring(equals + 1));
      }
    }
    all.putAll(process.env());
    all.forEach(
        (name, value) -> {
          if (name.isEmpty() || name.indexOf('=') >= 0 || (name + value).indexOf('\0') >= 0) {
            throw new AgentException.InvalidSpec(
                "'" + name + "' cannot be an environment variable: names are without = and NUL");
          }
        });
    return all;
  }
}
