package dev.zlayer.spec.compose;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ComposeFileTest {
  private static final String WEB_ENV = "# a\nA=1\nexport B='two words'\nexport TAG\n";

  private static ComposeFile.Converted convert(String text, Set<String> profiles) {
    return ComposeFile.convert(
        "compose.yaml",
        text.getBytes(StandardCharsets.UTF_8),
        new ComposeFile.Surroundings(
            "My Shop",
            Optional.empty(),
            profiles,
            Map.of("TAG", "1.2", "EMPTY", "", "HOME", "/home/me"),
            path -> path.equals("web.env") ? Optional.of(WEB_ENV) : Optional.empty()));
  }

  private static ComposeFile.Converted convert(String text) {
    return convert(text, Set.of());
  }

  /** The keys of a service of image {@code a}, indented by four. */
  private static String service(String keys) {
    ComposeFile.Converted converted = convert("services:\n  web:\n    image: a\n" + keys.indent(4));
    assertThat(converted.unsupported()).isEmpty();
    valid(converted);
    return converted.text();
  }

  private static void valid(ComposeFile.Converted converted) {
    SpecResult result =
        SpecReader.read("result", converted.text().getBytes(StandardCharsets.UTF_8));
    assertThat(result).as(converted.text()).isInstanceOf(SpecResult.Valid.class);
    assertThat(((SpecResult.Valid) result).notHonoured()).isEmpty();
  }

  private static List<String> unsupported(String keys) {
    return convert("services:\n  web:\n    image: a\n" + keys.indent(4)).unsupported().stream()
        .map(Problem::toString)
        .toList();
  }

  @Test
  void aFileOfOneServiceBecomesADeployment() {
    assertThat(service(""))
        .isEqualTo(
            """
            version: v1
            deployment: my-shop
            services:
              web:
                image:
                  name: a
                scale:
                  mode: fixed
                  replicas: 1
                restart_policy:
                  kind: no
            """);
  }

  @Test
  void publishedPortsAreEndpointsWhereTheyCanBe() {
    assertThat(service("ports: ['8080:80', '127.0.0.1:53:53/udp', '443', '10.0.0.1:5:6']"))
        .contains(
            """
                endpoints:
                - name: tcp-8080
                  protocol: tcp
                  port: 8080
                  target_port: 80
                  expose: public
                - name: udp-53
                  protocol: udp
                  port: 53
                  expose: internal
                port_mappings:
                - container_port: 443
                - host_port: 5
                  container_port: 6
                  host_ip: 10.0.0.1
            """);
    assertThat(service("ports: ['7000-7001:8000-8001']"))
        .contains("port: 7001\n      target_port: 8001");
    assertThat(service("ports: [{target: 80, published: '81', protocol: tcp, mode: host}]"))
        .contains("port: 81\n      target_port: 80");
    assertThat(unsupported("ports: ['1-2:3']")).singleElement().asString().contains("same length");
  }

  @Test
  void volumesAreOfTheDeploymentUnlessTheyAreExternal() {
    String text =
        convert(
                """
                services:
                  web:
                    image: a
                    volumes: ['data:/d', 'old:/o:ro', './x:/x', '~/y:/y', /cache,
                      {type: tmpfs, target: /t, tmpfs: {size: 1m}}]
                    tmpfs: /run:size=64k
                volumes: {data: {}, old: {external: true, name: kept}}
                """)
            .text();
    assertThat(text)
        .contains("name: my-shop-data", "name: kept\n      readonly: true")
        .contains("source: ./x", "source: /home/me/y", "type: anonymous")
        .contains("target: /t\n      size: 1Mi", "target: /run\n      size: 64Ki");
    assertThat(unsupported("volumes: ['nothere:/d']"))
        .containsExactly(
            "compose.yaml:4:15: services.web.volumes[0]: volume 'nothere' is not declared under"
                + " 'volumes'");
  }

  @Test
  void dependenciesOnCompletionMakeJobs() {
    ComposeFile.Converted converted =
        convert(
            """
            services:
              web:
                image: a
                depends_on:
                  db: {condition: service_healthy}
                  migrate: {condition: service_completed_successfully}
              worker: {image: a, depends_on: [web]}
              db: {image: b, healthcheck: {test: [CMD, ready, now], retries: 5}}
              migrate: {image: a, command: migrate --to 'the end', restart: on-failure}
            """);
    valid(converted);
    assertThat(converted.text())
        .contains("service: db\n      condition: healthy")
        .contains("service: migrate\n      condition: completed")
        .contains("service: web\n      condition: started")
        .contains("  migrate:\n    rtype: job\n")
        .contains("- migrate\n      - --to\n      - the end")
        .contains("type: command\n        command:\n        - ready\n        - now")
        .contains("interval: 30s", "on_unhealthy: none", "retries: 5");
  }

  @Test
  void limitsAndSettingsKeepTheirMeaning() {
    assertThat(
            service(
                """
                deploy:
                  replicas: 3
                  resources: {limits: {cpus: '0.5', memory: 1.5g, pids: 50}}
                  update_config: {order: start-first, failure_action: rollback}
                restart: on-failure:4
                cap_add: [NET_ADMIN]
                read_only: true
                init: true
                user: '1000:1000'
                ulimits: {nofile: {soft: 10, hard: 20}, nproc: 5}
                extra_hosts: ['db=10.0.0.1']
                stop_grace_period: 1m30s
                labels: [a=b]
                env_file: web.env
                environment: {A: '2', LITERAL: '$$S:not-a-secret', YES: 'TRUE'}
                logging: {driver: local, options: {max-size: 10m}}
                """))
        .contains("replicas: 3", "cpu: 0.5", "memory: 1536Mi", "pids_limit: 50")
        .contains("strategy: start_first", "rollback: true", "max_attempts: 4")
        .contains("capabilities:\n    - NET_ADMIN", "read_only_root_fs: true")
        .contains("init_container: true", "soft: 10", "nproc: 5", "- db:10.0.0.1")
        .contains("stop_grace_period: 1m30s", "B: two words", "A: '2'", "TAG: '1.2'")
        .contains("LITERAL: $$S:not-a-secret", "YES: 'TRUE'", "max_size_bytes: 10Mi");
  }

  @Test
  void whatHasNoCounterpartIsNamedWithItsPlace() {
    assertThat(
            unsupported(
                """
                shm_size: 1g
                network_mode: service:db
                volumes_from: [other]
                nonsense: 1
                """))
        .extracting(line -> line.replaceFirst("compose.yaml:(\\d+):\\d+: ", "$1 "))
        .containsExactly(
            "4 services.web.shm_size: /dev/shm has a fixed size of 64Mi",
            "5 services.web.network_mode: only host, none and bridge have a counterpart",
            "6 services.web.volumes_from: name the volumes of the other service",
            "7 services.web.nonsense: is not supported");
  }

  @Test
  void whatDiffersIsAWarning() {
    ComposeFile.Converted converted =
        convert(
            """
            services:
              web: {image: a, container_name: x, networks: [front], secrets: [pw]}
              db: {build: {context: ./db, dockerfile: Prod}, networks: [back], secrets: [pw]}
            networks: {front: , back: }
            secrets: {pw: {file: ./pw.txt}}
            """);
    assertThat(converted.unsupported()).isEmpty();
    valid(converted);
    assertThat(converted.text()).contains("name: my-shop-db");
    assertThat(converted.warnings())
        .extracting(Problem::message)
        .containsExactly(
            "containers are named deployment/service/replica",
            "'up' does not build images; build it before: zlayer build -t my-shop-db -f ./db/Prod"
                + " ./db",
            "all services of a deployment share one network: front, back",
            "set it before 'up': zlayer secret set pw --deployment my-shop < ./pw.txt");
  }

  @Test
  void profilesAndExtensionsAreResolved() {
    String file =
        """
        x-common: &common {image: a, environment: {A: b}}
        services:
          base: {image: base, environment: {ONE: '1'}, ports: ['1:1'], command: [x]}
          web: {extends: base, environment: {TWO: '2'}, ports: ['2:2'], command: [y]}
          other: {<<: *common}
          debug: {image: d, profiles: [debug]}
        """;
    String text = convert(file).text();
    assertThat(text).doesNotContain("debug").contains("A: b");
    assertThat(text.substring(text.indexOf("  web:"), text.indexOf("  other:")))
        .contains("ONE: '1'", "TWO: '2'", "port: 1\n", "port: 2\n", "- y")
        .doesNotContain("- x");
    assertThat(convert(file, Set.of("debug")).text()).contains("  debug:\n");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "a:$TAG | a:1.2",
        "a:${TAG} | a:1.2",
        "a:${NONE:-x} | a:x",
        "a:${NONE-${TAG}} | a:1.2",
        "a${EMPTY-x} | a",
        "a${EMPTY:-x} | ax",
        "a${TAG:+y} | ay",
        "a${NONE} | a",
      })
  void variablesAreReplaced(String written, String meant) {
    assertThat(convert("services: {web: {image: '" + written + "'}}").text())
        .contains("name: " + meant + "\n");
  }

  @ParameterizedTest
  @ValueSource(strings = {"${NONE?it is needed}", "${", "${}", "a $ b", "${TAG!}"})
  void aWrongVariableIsAProblem(String written) {
    assertThat(convert("services: {web: {image: '" + written + "'}}").unsupported()).isNotEmpty();
  }

  @Test
  void onlyComposeFilesAreTakenForOne() {
    assertThat(recognised("services: {web: {image: a}}")).isTrue();
    assertThat(recognised("version: '3.8'\nservices: {}")).isTrue();
    assertThat(recognised("version: v1\ndeployment: shop\nservices: {}")).isFalse();
    assertThat(recognised("version: v1\nservices: {}")).isFalse();
    assertThat(recognised("- a")).isFalse();
    assertThat(recognised("{")).isFalse();
  }

  private static boolean recognised(String text) {
    return ComposeFile.recognised(text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void whatIsNoYamlIsRefusedWithItsPlace() {
    assertThatThrownBy(() -> convert("services: ["))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("compose.yaml:1");
    assertThatThrownBy(() -> convert("- a"))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessage("compose.yaml: a Compose file is a mapping");
    assertThat(convert("services: [a]").unsupported()).isNotEmpty();
    assertThat(convert("services: {web: 5}").unsupported()).isNotEmpty();
    assertThat(
            convert("services: {web: {image: a, ports: 5, volumes: {}, ulimits: 4}}").unsupported())
        .hasSize(3);
  }
}
