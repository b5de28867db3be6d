package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.NetworkSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Environments;
import dev.zlayer.host.linux.Namespaces;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Set;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Agents that die at every step, and plugins that fail, hang or talk nonsense. */
class NetworksCrashIT {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final Path REAL_PLUGINS = Path.of("/usr/lib/cni");

  @TempDir Path directory;
  private NetworkConfig config;
  private NetworkLeaks leaks;

  @BeforeEach
  void configure() {
    config = NetworkLeaks.config(directory).withPoolSize(0);
    leaks = new NetworkLeaks(config);
  }

  @AfterEach
  void destroy() throws Exception {
    leaks.destroy();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "slot recorded",
        "namespace made",
        "plugins added",
        "slot ready",
        "slot held",
        "ports published",
        "ports unpublished",
        "ports recorded",
        "slot leaving",
        "namespace deleted",
        "plugins deleted",
        "slot forgotten"
      })
  void anAgentThatDiesLeavesNothingTheNextOneDoesNotKnow(String step) throws Exception {
    Process agent = Processes.start(agentDyingAt(step));
    assertThat(agent.waitFor()).isEqualTo(CrashingAgent.DIED);

    try (Networks networks = Networks.open(config)) {
      networks.settle(Deadline.after(LIMIT));
      Set<String> known = Set.copyOf(networks.attached());
      int ports =
          networks.attached().stream()
              .mapToInt(name -> networks.find(name).orElseThrow().ports().size())
              .sum();
      leaks.assertOnly(known, known.size(), ports);
      assertThat(networks.strayAddresses()).isEmpty();
      boolean attachedThen =
          Set.of("slot held", "ports published", "ports unpublished", "ports recorded")
              .contains(step);
      assertThat(known).isEqualTo(attachedThen ? Set.of("victim") : Set.of());

      networks.detach("victim");
      networks.settle(Deadline.after(LIMIT));
      leaks.assertNone();
      networks.attach("victim", NetworkSpec.DEFAULT);
      networks.detach("victim");
    }
    leaks.assertNone();
  }

  @Test
  void aPluginThatOutlivedItsAgentIsStopped() throws Exception {
    Path started = directory.resolve("started");
    plugin(
        "bridge",
        "[ $CNI_COMMAND = ADD ] || exec %s/bridge\n".formatted(REAL_PLUGINS)
            + "touch %s; sleep 1000".formatted(started));
    Process agent = Processes.start(agentDyingAt("never", directory));
    Awaitility.await().atMost(LIMIT).until(() -> Files.exists(started));
    String slot = leaks.namespaces().getFirst();
    agent.destroyForcibly().waitFor();
    assertThat(Environments.having(Cni.CONTAINER_ID, Set.of(slot))).isNotEmpty();

    try (Networks networks = Networks.open(config)) {
      networks.settle(Deadline.after(LIMIT));
      assertThat(Environments.having(Cni.CONTAINER_ID, Set.of(slot))).isEmpty();
      leaks.assertNone();
    }
  }

  @Test
  void aPluginThatFailsIsNamedWithItsCodeAndWords() throws Exception {
    plugin("bridge", addOnly("echo '{\"code\": 11, \"msg\": \"no more cable\"}'; exit 7"));
    try (Networks networks = Networks.open(wrapped())) {
      assertThatThrownBy(() -> networks.attach("one", NetworkSpec.DEFAULT))
          .isInstanceOf(AgentException.Network.class)
          .hasMessage("cni plugin bridge exited with 7 on ADD: no more cable");
      networks.settle(Deadline.after(LIMIT));
      leaks.assertNone();
    }
  }

  @Test
  void aPluginThatFailsAfterItActedIsUndone() throws Exception {
    plugin(
        "bridge", addOnly("%s/bridge >/dev/null; echo broken >&2; exit 3".formatted(REAL_PLUGINS)));
    try (Networks networks = Networks.open(wrapped())) {
      assertThatThrownBy(() -> networks.attach("one", NetworkSpec.DEFAULT))
          .hasMessage("cni plugin bridge exited with 3 on ADD: broken");
      networks.settle(Deadline.after(LIMIT));
      leaks.assertNone();
    }
  }

  @Test
  void aPluginThatTalksNonsenseIsAnError() throws Exception {
    plugin("bridge", addOnly("echo lorem; echo ipsum"));
    try (Networks networks = Networks.open(wrapped())) {
      assertThatThrownBy(() -> networks.attach("one", NetworkSpec.DEFAULT))
          .isInstanceOf(AgentException.Network.class)
          .hasMessage("cni plugin bridge exited with 0 on ADD but printed no result: ipsum");
      networks.settle(Deadline.after(LIMIT));
      leaks.assertNone();
    }
  }

  @Test
  void aPluginThatHangsIsEndedAtItsDeadline() throws Exception {
    plugin("bridge", addOnly("sleep 1000"));
    NetworkConfig hasty = wrapped().withPluginTimeout(Duration.ofMillis(500));
    try (Networks networks = Networks.open(hasty)) {
      assertThatThrownBy(() -> networks.attach("one", NetworkSpec.DEFAULT))
          .isInstanceOf(AgentException.Timeout.class)
          .hasMessageContaining("bridge");
      networks.settle(Deadline.after(LIMIT));
      leaks.assertNone();
    }
  }

  @Test
  void aPluginThatCannotDeleteIsAskedAgain() throws Exception {
    Path broken = Files.createFile(directory.resolve("broken"));
    plugin(
        "bridge",
        """
        if [ $CNI_COMMAND = DEL ] && [ -e %s ]; then echo stuck >&2; exit 5; fi
        [ $CNI_COMMAND = ADD ] || exec %2$s/bridge
        %2$s/bridge >/dev/null; exit 3
        """
            .formatted(broken, REAL_PLUGINS));
    try (Networks networks = Networks.open(wrapped())) {
      assertThatThrownBy(() -> networks.attach("one", NetworkSpec.DEFAULT))
          .isInstanceOf(AgentException.Network.class);
      Awaitility.await() // the plugin has to have run once
          .atMost(LIMIT)
          .untilAsserted(
              () ->
                  assertThatThrownBy(() -> networks.settle(Deadline.after(Duration.ofMillis(300))))
                      .isInstanceOf(AgentException.Timeout.class)
                      .hasMessageContaining("cni plugin bridge exited with 5 on DEL: stuck"));
      assertThat(leaks.unheldRecords()).hasSize(1);

      Files.delete(broken);
      networks.settle(Deadline.after(LIMIT));
      leaks.assertNone();
    }
  }

  @Test
  void thePoolGoesOnWhenAPluginRecovers() throws Exception {
    Path broken = Files.createFile(directory.resolve("broken"));
    Path tried = directory.resolve("tried"); // another file, since this would make it again
    plugin(
        "bridge",
        "if [ $CNI_COMMAND = ADD ] && [ -e %s ]; then echo >> %s; exit 5; fi\nexec %s/bridge"
            .formatted(broken, tried, REAL_PLUGINS));
    try (Networks networks = Networks.open(wrapped().withPoolSize(2))) {
      Awaitility.await().atMost(LIMIT).until(() -> Files.exists(tried));
      assertThat(networks.prepared()).isZero();
      Files.delete(broken);
      Awaitility.await().atMost(LIMIT).until(() -> networks.prepared() == 2);
    }
    leaks.assertNone();
  }

  @Test
  void aTornRecordIsSweptWithItsNamespaceAndAddress() throws Exception {
    String slot = config.prefix() + "-torn";
    try (Networks networks = Networks.open(config)) {
      networks.attach("keep", NetworkSpec.DEFAULT);
    }
    Path record = config.attachments().resolve("making").resolve(slot + ".json");
    Files.writeString(record, "{\"version\":");
    Files.writeString(config.addresses().resolve("default").resolve("10.0.0.9"), slot + "\r\neth0");
    try (var namespaces = new Namespaces()) {
      namespaces.create(config.namespaces().resolve(slot));
      namespaces.create(config.namespaces().resolve(slot + "-unknown"));
    }

    try (Networks networks = Networks.open(config)) {
      networks.settle(Deadline.after(LIMIT));
      leaks.assertOnly(Set.of("keep"), 1, 0);
    }
  }

  private NetworkConfig wrapped() {
    return config.withPluginDirectories(directory, REAL_PLUGINS);
  }

  private void plugin(String name, String body) throws IOException {
    Path file = Files.writeString(directory.resolve(name), "#!/bin/sh\n" + body + "\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private static String addOnly(String body) {
    return "[ $CNI_COMMAND = ADD ] || exec %s/bridge\n%s".formatted(REAL_PLUGINS, body);
  }

  private Command agentDyingAt(String step, Path... pluginDirectories) {
    return Command.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "--enable-native-access=ALL-UNNAMED",
        "-cp",
        System.getProperty("java.class.path"),
        CrashingAgent.class.getName(),
        config.runDirectory().toString(),
        config.stateDirectory().toString(),
        config.prefix(),
        config.subnets().toString(),
        step,
        pluginDirectories.length == 0 ? "" : pluginDirectories[0].toString());
  }
}
