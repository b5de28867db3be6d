package dev.zlayer.runtime.oci.config;

import dev.zlayer.container.ProcessSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.ImageDetails;
import java.util.ArrayList;
import java.util.List;

/** What runs, joined from the image's and the spec's parts by Docker's rules. */
public final class ProcessArguments {
  private ProcessArguments() {}

  public static List<String> of(ProcessSpec process, ImageDetails.RunConfig image) {
    List<String> entrypoint = process.entrypoint().orElse(image.entrypoint());
    List<String> args =
        process
            .args()
            .orElseGet(() -> process.entrypoint().isPresent() ? List.of() : image.command());
    var command = new ArrayList<String>();
    // an entrypoint of one empty word is how people ask for none
    if (!entrypoint.equals(List.of(""))) {
      command.addAll(entrypoint);
    }
    command.addAll(args);
    if (command.isEmpty() || command.getFirst().isEmpty()) {
      throw new AgentException.InvalidSpec(
          "there is nothing to run: the image names no command, so give one");
    }
    for (String word : command) {
      if (word.indexOf('\0') >= 0) {
        throw new AgentException.InvalidSpec("a command cannot contain a NUL character");
      }
    }
    return List.copyOf(command);
  }
}
