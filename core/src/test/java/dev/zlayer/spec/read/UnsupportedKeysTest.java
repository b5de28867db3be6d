package dev.zlayer.spec.read;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.spec.problem.Problem;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class UnsupportedKeysTest {
  @Test
  void everyListedKeyExists() {
    assertThat(UnsupportedKeys.fields()).hasSizeGreaterThanOrEqualTo(UnsupportedKeys.KEYS.size());
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
        .contains(
            "only a cluster has several nodes, begin one with 'zlayer cluster init'",
            "all volumes lie on the local disk");
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

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "storage: [{type: named, name: a, target: /a, size: 1Gi}] | storage[0].size",
        "storage: [{type: s3, bucket: abc, target: /a}] | storage[0].readonly",
        "ipc_mode: none | ipc_mode",
        "security_opt: ['label=type:strict'] | security_opt[0]",
        "'rtype: job, logs: {destination: memory}' | logs.destination",
        "scale: {mode: adaptive, targets: {memory: 80}} | scale.targets.memory",
        "isolation: hyperv | isolation",
        "'replica_groups: [{role: a, count: 1, resources: {gpu: {scheduling: gang}}}]'"
            + " | replica_groups[0].resources.gpu.scheduling",
        "overlay: {mode: dedicated} | overlay.mode",
        "overlay: {parent: wide} | overlay.parent",
        "'resources: {gpu: {vendor: apple, mode: native}}' | resources.gpu.mode",
        "'rtype: job, endpoints: [{name: a, protocol: tcp, port: 80}]' | endpoints",
        "'rtype: job, errors: {on_panic: {action: isolate}}' | errors.on_panic",
        "'rtype: job, depends: [other]' | depends",
        "'rtype: cron, schedule: \"@daily\", depends: [other]' | depends",
        "'rtype: job, job: {warm: 1}, storage: [{type: s3, bucket: abc, target: /a}]' | job.warm",
        "'rtype: job, job: {warm: 1}, network_mode: \"container:other\"' | job.warm",
        "'rtype: job, job: {warm: 1}, pid_mode: \"container:other\"' | job.warm",
        "'rtype: job, job: {warm: 1}, resources: {gpu: {count: 1}}' | job.warm",
        "'rtype: job, job: {warm: 1}, service_type: wasm_plugin' | job.warm",
        "'rtype: job, job: {warm: 1}, init: {steps: [{id: a, uses: init.run, with: {command: a}}]}'"
            + " | job.warm",
      })
  void valuesThatNothingActsOnAreReportedOnceWithTheirPlace(String keys, String path) {
    var valid =
        SpecFiles.valid(
            """
            version: v1
            deployment: shop
            services:
              web: {image: app, %s}
              other: {image: app}
            """
                .formatted(keys));

    assertThat(valid.notHonoured())
        .extracting(problem -> problem.line() + " " + problem.path())
        .containsExactly("4 services.web." + path);
    assertThat(valid.notHonoured().getFirst().column()).isGreaterThan(8);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "logs: {retention_secs: 60}",
        "logs: {destination: memory}",
        "scale: {mode: adaptive, targets: {memory: 80}}, resources: {memory: 64Mi}",
        "resources: {gpu: {mode: mps}}",
        "overlay: {mode: shared, parent: cluster}",
        "overlay: {mode: auto}",
        "scale: {mode: manual, replicas: 0}",
      })
  void whatIsActedOnIsNotReported(String keys) {
    assertThat(
            SpecFiles.valid(
                    """
                    version: v1
                    deployment: shop
                    services:
                      web: {image: app, depends: [{service: migrate, condition: completed}], %s}
                      migrate: {rtype: job, image: app, depends: [db]}
                      db: {image: app}
                    """
                        .formatted(keys))
                .remarks())
        .isEmpty();
  }
}
