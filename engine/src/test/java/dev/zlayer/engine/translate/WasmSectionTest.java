package dev.zlayer.engine.translate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.engine.job.Jobs;
import dev.zlayer.error.AgentException;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WasmSectionTest {
  private static final Path DIRECTORY = Path.of("/srv/shop");

  private static ContainerSpec translate(String keys) {
    var translator =
        new ServiceTranslator(
            new EnvResolver(_ -> Optional.empty(), (_, _, _) -> Optional.empty()),
            (_, _) -> Optional.empty());
    var service = Jobs.parse("web:\n" + ("image: app:1\n" + keys).indent(2)).getFirst().service();
    return translator.translate("shop", "web", service, DIRECTORY);
  }

  @Test
  void aModuleIsGivenItsDirectoriesAndItsMemory() {
    ContainerSpec spec =
        translate(
            """
            service_type: wasm_plugin
            resources: {memory: 64Mi}
            storage: [{type: named, name: v, target: /v}]
            wasm:
              max_memory: 16Mi
              precompile: false
              capabilities: {cli: true, filesystem: true, secrets: false, http_client: false}
              preopens:
                - {source: data, target: /data, readonly: true}
                - {source: /srv/out, target: /out}
            """);

    assertThat(spec.fileSystem().mounts())
        .containsExactly(
            new Mount.Named("v", "/v", false),
            new Mount.Bind(DIRECTORY.resolve("data"), "/data", true),
            new Mount.Bind(Path.of("/srv/out"), "/out", false));
    assertThat(spec.resources().memoryBytes()).hasValue(16 << 20);
    assertThat(spec.labels()).containsEntry("dev.zlayer.wasm/precompile", "false");
  }

  @Test
  void withoutSettingsAModuleIsAContainerLikeOthers() {
    ContainerSpec spec = translate("service_type: wasm_transformer");
    assertThat(spec.labels()).doesNotContainKey("dev.zlayer.wasm/precompile");
    assertThat(spec.resources()).isEqualTo(translate("").resources());
    assertThat(
            translate(
                    "service_type: wasm_plugin\nresources: {memory: 8Mi}\nwasm: {max_memory: 16Mi}")
                .resources()
                .memoryBytes())
        .as("the smaller one")
        .hasValue(8 << 20);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{min_instances: 1} | min_instances",
        "{max_instances: 9} | max_instances",
        "{idle_timeout: 1s} | idle_timeout",
        "{request_timeout: 1s} | request_timeout",
        "{max_fuel: 5} | max_fuel",
        "{epoch_interval: 1s} | epoch_interval",
        "{allowed_hosts: [a]} | allowed_hosts",
        "{allow_tcp: true} | allow_tcp",
        "{allow_udp: true} | allow_udp",
        "{kv_namespace: a} | kv_namespace",
        "{kv_max_value_size: 1Ki} | kv_max_value_size",
        "{secrets: [a]} | secrets",
        "{capabilities: {keyvalue: true}} | capabilities.keyvalue",
        "{capabilities: {cli: false}} | capabilities.cli",
        "{preopens: [{source: a, target: b}]} | preopens[0].target",
      })
  void whatModulesAreNotGivenIsRefusedWithItsPath(String settings, String path) {
    assertThatThrownBy(() -> translate("service_type: wasm_plugin\nwasm: " + settings))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("services.web.wasm." + path + ": ");
  }

  @Test
  void typesThatAreCalledPerRequestAreRefused() {
    assertThatThrownBy(() -> translate("service_type: wasm_router"))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("services.web.service_type: requests are not passed");
  }
}
