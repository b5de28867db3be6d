package dev.zlayer.spec.read;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.spec.problem.Problem;
import org.junit.jupiter.api.Test;

class NotHonouredTest {
  @Test
  void everyListedKeyExists() {
    assertThat(NotHonoured.fields()).hasSizeGreaterThanOrEqualTo(NotHonoured.KEYS.size());
  }

  @Test
  void writtenOnesAreReportedAndDoNotFailTheFile() {
    var valid =
        SpecFiles.valid(
            """
            version: v1
            deployment: shop
            externals:
              api: {backends: ["api.example.org:443"]}
            services:
              web:
                image: {name: nginx}
                affinity: spread
                env: {KEY: "$S::prod/key"}
                storage:
                  - {type: anonymous, target: /data, tier: network}
                endpoints:
                  - {name: raw, protocol: tcp, port: 5000, stream: {tls: true}}
            """);
    assertThat(valid.warnings()).isEmpty();
    assertThat(valid.notHonoured())
        .extracting(problem -> problem.line() + ":" + problem.column() + " " + problem.path())
        .containsExactly(
            "3:1 externals",
            "8:15 services.web.affinity",
            "9:16 services.web.env.KEY",
            "11:48 services.web.storage[0].tier",
            "13:48 services.web.endpoints[0].stream");
    assertThat(valid.remarks())
        .extracting(Problem::message)
        .allMatch(message -> message.startsWith("accepted, not acted on: "));
  }

  @Test
  void whatModulesAreNotGivenIsReportedUnderBothNames() {
    var valid =
        SpecFiles.valid(
            """
            version: v1
            deployment: shop
            services:
              http:
                service_type: wasm_http
                image: {name: a}
                endpoints: [{name: web, protocol: http, port: 80}]
                wasm_http: {max_fuel: 1, max_memory: 1Mi}
              tool:
                service_type: wasm_plugin
                image: {name: a}
                wasm: {allow_tcp: true, precompile: false, capabilities: {cli: true, metrics: true}}
            """);
    assertThat(valid.notHonoured())
        .extracting(problem -> problem.path().toString())
        .containsExactlyInAnyOrder(
            "services.http.service_type",
            "services.http.wasm_http.max_fuel",
            "services.tool.wasm.allow_tcp",
            "services.tool.wasm.capabilities.metrics");
  }
}
