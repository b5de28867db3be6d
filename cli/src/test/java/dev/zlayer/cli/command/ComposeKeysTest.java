package dev.zlayer.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Every key that the Compose specification knows: it changes what is written, or it is named with
 * its line. Nothing is lost without a word.
 */
class ComposeKeysTest {
  @TempDir private Path directory;

  private CliFixture.Result convert(String text) throws IOException {
    Files.writeString(directory.resolve("compose.yaml"), text);
    return new CliFixture(directory, Map.of("HOME", directory.toString()))
        .run("convert", "--name", "keys");
  }

  private static String file(String key) {
    return "services:\n  other: {image: b}\n  web:\n    image: a\n    " + key + "\n";
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "annotations: {a: b}",
        "attach: false",
        "build: .",
        "blkio_config: {weight: 300}",
        "cap_add: [NET_ADMIN]",
        "cap_drop: [ALL]",
        "cgroup: host",
        "cgroup_parent: x",
        "command: [a]",
        "configs: [c]",
        "container_name: x",
        "cpu_count: 1",
        "cpu_percent: 50",
        "cpu_shares: 10",
        "cpu_quota: 50000",
        "cpu_period: 100000",
        "cpu_rt_period: 1000",
        "cpu_rt_runtime: 1000",
        "cpus: 0.5",
        "cpuset: 0-1",
        "credential_spec: {file: x.json}",
        "depends_on: [other]",
        "deploy: {replicas: 2}",
        "deploy: {endpoint_mode: dnsrr}",
        "deploy: {mode: global}",
        "deploy: {placement: {constraints: [a==b]}}",
        "deploy: {labels: {a: b}}",
        "deploy: {rollback_config: {order: stop-first}}",
        "develop: {watch: []}",
        "device_cgroup_rules: ['c 1:3 mr']",
        "devices: ['/dev/null:/dev/x']",
        "dns: 10.0.0.1",
        "dns_opt: [rotate]",
        "dns_search: example.com",
        "domainname: example.com",
        "entrypoint: [a]",
        "environment: [A=b]",
        "expose: ['80']",
        "external_links: [x]",
        "extra_hosts: ['a:10.0.0.1']",
        "gpus: all",
        "group_add: [mail]",
        "healthcheck: {test: [CMD, 'true']}",
        "hostname: x",
        "init: true",
        "ipc: host",
        "isolation: default",
        "label_file: ./labels",
        "labels: {a: b}",
        "links: ['other:db']",
        "logging: {driver: syslog}",
        "mac_address: 02:42:ac:11:65:43",
        "mem_limit: 1g",
        "mem_reservation: 1g",
        "mem_swappiness: 10",
        "memswap_limit: 2g",
        "models: [m]",
        "network_mode: host",
        "networks: {default: {aliases: [x]}}",
        "oom_kill_disable: true",
        "oom_score_adj: 100",
        "pid: host",
        "pids_limit: 10",
        "platform: linux/amd64",
        "ports: ['8080:80']",
        "post_start: [{command: x}]",
        "pre_stop: [{command: x}]",
        "privileged: true",
        "profiles: [debug]",
        "provider: {type: x}",
        "pull_policy: always",
        "pull_refresh_after: 1d",
        "read_only: true",
        "restart: always",
        "runtime: runsc",
        "scale: 2",
        "security_opt: ['no-new-privileges:true']",
        "shm_size: 1g",
        "secrets: [s]",
        "sysctls: {net.core.somaxconn: 1024}",
        "stdin_open: true",
        "stop_grace_period: 20s",
        "stop_signal: SIGINT",
        "storage_opt: {size: 1G}",
        "tmpfs: /run",
        "tty: true",
        "ulimits: {nofile: 1000}",
        "use_api_socket: true",
        "user: nobody",
        "uts: host",
        "userns_mode: host",
        "volumes: ['/data']",
        "volumes_from: [other]",
        "working_dir: /x",
      })
  void everyKeyOfAServiceIsConvertedOrNamed(String key) throws IOException {
    String plain = convert(file("x-none: 1")).out();
    CliFixture.Result result = convert(file(key));

    String name = key.substring(0, key.indexOf(':'));
    assertThat(result.err()).doesNotContain("\tat ").doesNotContain("internal error");
    assertThat(!result.out().equals(plain) || result.err().contains("services.web." + name))
        .as("%s%n%s%n%s", key, result.out(), result.err())
        .isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "include: [other.yaml]",
        "models: {m: {model: x}}",
        "networks: {n: {internal: true}}",
        "networks: {n: {driver: overlay}}",
        "volumes: {v: {driver: nfs}}",
        "configs: {c: {content: text}}",
        "secrets: {s: {environment: S}}",
        "extra: 1",
      })
  void everyOtherKeyIsConvertedOrNamed(String key) throws IOException {
    String use =
        "services: {web: {image: a, networks: [%s], volumes: [%s], configs: [%s], secrets: [%s]}}\n"
            .formatted(
                key.contains(" {n") ? "n" : "",
                key.contains(" {v") ? "'v:/v'" : "",
                key.contains(" {c") ? "c" : "",
                key.contains(" {s") ? "s" : "");
    CliFixture.Result result = convert(use + key + "\n");

    assertThat(result.err())
        .as(result.out())
        .contains(key.substring(0, key.indexOf(':')))
        .doesNotContain("\tat ");
  }

  @Test
  void aKeyThatDoesNotExistIsNamed() throws IOException {
    assertThat(convert(file("imagee: x")).err()).contains("services.web.imagee");
  }
}
