package dev.zlayer.runtime.cni;

import dev.zlayer.container.ConnectionSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.NetworkSpec.Port;
import dev.zlayer.container.NetworkSpec.Protocol;
import dev.zlayer.task.Deadline;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * An agent that attaches one container and detaches it again, and dies without a word when it
 * reaches the step it is told: {@code RUN STATE PREFIX RANGE STEP PLUGINS}.
 */
final class CrashingAgent {
  static final int DIED = 99;

  private CrashingAgent() {}

  public static void main(String[] arguments) throws Exception {
    NetworkConfig config =
        NetworkConfig.of(Path.of(arguments[0]), Path.of(arguments[1]))
            .withPrefix(arguments[2], Subnet.parse(arguments[3]))
            .withPoolSize(0);
    if (!arguments[5].isEmpty()) {
      config = config.withPluginDirectories(Path.of(arguments[5]));
    }
    try (Networks networks =
        Networks.open(
            config,
            step -> {
              if (step.equals(arguments[4])) {
                Runtime.getRuntime().halt(DIED);
              }
            })) {
      networks.attach(
          "victim",
          NetworkSpec.DEFAULT.withPorts(
              new Port(OptionalInt.empty(), 80, Protocol.TCP, Optional.empty())));
      if (arguments[4].contains("connection")) {
        networks.create("extra");
        networks.members().connect("victim", "extra", ConnectionSpec.of(List.of("more")));
        networks.members().disconnect("victim", "extra");
        networks.members().disconnect("victim", NamedNetwork.DEFAULT);
      }
      networks.published().release("victim");
      networks
          .published()
          .publish(
              "victim", List.of(new Port(OptionalInt.empty(), 80, Protocol.TCP, Optional.empty())));
      networks.detach("victim");
      networks.settle(Deadline.after(Duration.ofSeconds(10)));
    }
  }
}
