package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.util.Optional;

/** Which network a container gets. */
@TextForm(
    is = "default, host, none, bridge, bridge:NAME or container:ID",
    example = "bridge",
    pattern = "^(default|host|none|bridge(:.+)?|container:.+)$")
public sealed interface NetworkMode {
  /** What the agent gives by default: its own bridge. */
  record Standard() implements NetworkMode {}

  /** The network of the machine itself. */
  record Host() implements NetworkMode {}

  /** Loopback only. */
  record None() implements NetworkMode {}

  record Bridge(Optional<String> name) implements NetworkMode {}

  /** The network of another container. */
  record OfContainer(String id) implements NetworkMode {}

  static NetworkMode parse(String text) {
    if (text.startsWith("bridge:") && text.length() > "bridge:".length()) {
      return new Bridge(Optional.of(text.substring("bridge:".length())));
    }
    if (text.startsWith("container:") && text.length() > "container:".length()) {
      return new OfContainer(text.substring("container:".length()));
    }
    return switch (text) {
      case "default" -> new Standard();
      case "host" -> new Host();
      case "none" -> new None();
      case "bridge" -> new Bridge(Optional.empty());
      default ->
          throw new AgentException.InvalidSpec(
              "'%s' is not a network mode, write default, host, none, bridge, bridge:NAME or container:ID"
                  .formatted(text));
    };
  }
}
