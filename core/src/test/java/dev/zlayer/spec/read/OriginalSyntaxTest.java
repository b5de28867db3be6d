package dev.zlayer.spec.read;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.oci.PullPolicy;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.placement.Affinity;
import dev.zlayer.spec.security.UlimitSpec;
import dev.zlayer.spec.service.DependsSpec;
import dev.zlayer.spec.service.HealthCheck;
import dev.zlayer.spec.service.InitAction;
import dev.zlayer.spec.service.ScaleSpec;
import dev.zlayer.spec.storage.StorageSpec;
import dev.zlayer.spec.value.ByteSize;
import dev.zlayer.spec.value.Capability;
import dev.zlayer.spec.value.NetworkMode;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The established syntax of version v1, key by key: it must stay readable as it is. */
class OriginalSyntaxTest {
  private static final String EVERY_KEY =
      """
      version: v1
      deployment: My-Shop-
      services:
        api:
          rtype: service
          image:
            name: ghcr.io/acme/api:v1.2.3
            pull_policy: newer
            source_policy: local_first
          resources:
            cpu: 0.5
            memory: 512Mi
            gpu:
              count: 1
              vendor: nvidia
              model: A100
              scheduling: best-effort
              distributed: {backend: nccl, master_port: 29500}
              sharing: time-slice
              time_slice_index: 0
            pids_limit: 100
            cpuset: "0-3"
            cpu_shares: 1024
            memory_swap: 1Gi
            memory_reservation: 256Mi
            memory_swappiness: 60
            oom_score_adj: -500
            oom_kill_disable: false
            blkio_weight: 500
          env:
            PLAIN: value
            HOST: $E:HOME
            SECRET: $S:db/password
            OTHER: $S:@worker/token
            SCOPED: $S:acme:prod/key
          command:
            entrypoint: ["/app/server"]
            args: ["--port", "8080"]
            workdir: /app
          network:
            overlays:
              service: {enabled: true, encrypted: true, isolated: true}
            join: {mode: token, scope: service}
          endpoints:
            - name: http
              protocol: http
              port: 8080
              target_port: 80
              path: /api
              host: "*.example.org"
              expose: public
              target_role: primary
              tunnel: {enabled: true, remote_port: 0, access: {enabled: true, max_ttl: 4h}}
            - name: game
              protocol: udp
              port: 27015
              stream:
                session_timeout: 60s
                health_check: {type: udp_probe, request: ping, expect: pong}
          scale:
            mode: adaptive
            min: 1
            max: 10
            cooldown: 30s
            targets: {cpu: 70, memory: 80, rps: 800}
          replica_groups:
            - role: primary
              count: 1
              env: {ROLE: primary}
            - {role: read-replica, count: 2, affinity: pack}
          depends:
            - service: worker
              condition: started
              timeout: 2m 30s
              on_timeout: warn
          health:
            start_grace: 5s
            interval: 10s
            timeout: 5s
            retries: 3
            check: {type: http, url: "http://localhost:8080/health", expect_status: 204}
          init:
            steps:
              - id: wait
                uses: init.wait_tcp
                with: {host: worker, port: 5432, timeout: 30}
                retry: 2
                timeout: 1h
                on_failure: continue
          errors:
            on_init_failure: {action: backoff}
            on_panic: {action: isolate}
          lifecycle: {delete_on_exit: true}
          devices:
            - {path: /dev/fuse, read: true, write: true, mknod: false}
          storage:
            - {type: bind, source: /srv, target: /srv, readonly: true}
            - {type: named, name: data, target: /data, tier: cached, size: 10Gi}
            - {type: anonymous, target: /cache}
            - {type: tmpfs, target: /run, size: 64Mi, mode: 511}
            - {type: s3, bucket: bucket, prefix: a/, target: /s3, endpoint: "https://s3.example.org"}
          port_mappings:
            - {container_port: 80}
            - {host_port: 0, container_port: 443, protocol: tcp, host_ip: 127.0.0.1}
          cap_add: [net_admin, CAP_SYS_TIME]
          cap_drop: [MKNOD]
          privileged: false
          node_mode: exclusive
          node_selector: {labels: {zone: a}, prefer_labels: {disk: ssd}}
          affinity: !pin id=2
          platform: {os: linux, arch: amd64}
          service_type: standard
          logs: {destination: memory, max_size_bytes: 1048576, retention_secs: 3600}
          hostname: api
          dns: ["10.0.0.53", "fd00::53"]
          extra_hosts: ["db:10.0.0.5", "host:host-gateway"]
          restart_policy: {kind: unless_stopped, max_attempts: 5, delay: 2s}
          labels: {com.example.team: shop}
          user: "1000:1000"
          stop_signal: SIGINT
          stop_grace_period: 45s
          sysctls: {net.core.somaxconn: "1024"}
          ulimits: {nofile: {soft: 1024, hard: -1}}
          security_opt: [no-new-privileges, seccomp=unconfined]
          pid_mode: host
          ipc_mode: shareable
          userns_mode: host
          extra_groups: [audio, "1001"]
          read_only_root_fs: true
          init_container: true
          tty: true
          stdin_open: true
          network_mode: bridge:front
          cgroup_parent: /zlayer
          expose: ["80", 53/udp]
          overlay: {mode: shared}
          localhost_reachability: always
        worker:
          image: {name: busybox}
          host_network: true
          depends: []
          health:
            check: {type: command, command: test -f /ready}
        nightly:
          rtype: cron
          schedule: 0 0 3 * * *
          image: {name: busybox}
        plugin:
          image: {name: registry.example.org/plugin:1}
          service_type: wasm_http
          endpoints:
            - {name: http, protocol: http, port: 9090}
          wasm_http:
            min_instances: 0
            max_instances: 10
            idle_timeout: 300s
            max_memory: 64Mi
            max_fuel: 1000000
            epoch_interval: 10ms
            capabilities: {config: true}
            preopens: [{source: /srv, target: /data, readonly: true}]
            secrets: [token]
      externals:
        billing:
          backends: ["10.0.0.9:443"]
          endpoints:
            - {name: https, protocol: https, port: 443}
          health:
            check: {type: tcp, port: 443}
      tunnels:
        ssh: {from: a, to: b, local_port: 22, remote_port: 2222, protocol: tcp, expose: internal}
      api: {enabled: true, bind: "0.0.0.0:3669", jwt_secret: x, swagger: false}
      """;

  private static final SpecResult.Valid FILE = SpecFiles.valid(EVERY_KEY);
  private static final ServiceSpec API = service("api");

  private static ServiceSpec service(String name) {
    return Optional.ofNullable(FILE.spec().services().get(name)).orElseThrow();
  }

  @Test
  void theSchemaAcceptsItToo() {
    assertThat(
            SpecFiles.schemaErrors(
                SpecFiles.schema(), EVERY_KEY.getBytes(java.nio.charset.StandardCharsets.UTF_8)))
        .isEmpty();
  }

  @Test
  void scalarsAreReadAsMeant() {
    assertThat(API.image().pullPolicy()).isEqualTo(PullPolicy.NEWER);
    assertThat(API.image().name().canonical()).isEqualTo("ghcr.io/acme/api:v1.2.3");
    assertThat(API.resources().memory()).contains(new ByteSize(512L << 20));
    assertThat(API.resources().cpu()).contains(0.5);
    assertThat(API.process().stopSignal())
        .hasValueSatisfying(s -> assertThat(s.number()).isEqualTo(2));
    assertThat(API.process().stopGracePeriod()).contains(Duration.ofSeconds(45));
    assertThat(API.logs().retentionSecs()).isEqualTo(Duration.ofHours(1));
  }

  @Test
  void listsAndUnionsAreReadAsMeant() {
    assertThat(API.storage()).hasSize(5);
    assertThat(API.storage().get(3))
        .isEqualTo(
            new StorageSpec.Tmpfs("/run", Optional.of(new ByteSize(64L << 20)), Optional.of(511)));
    assertThat(API.lifecycle().scale()).isInstanceOf(ScaleSpec.Adaptive.class);
    assertThat(API.lifecycle().depends())
        .containsExactly(
            new DependsSpec(
                "worker",
                DependsSpec.Condition.STARTED,
                Duration.ofSeconds(150),
                DependsSpec.OnTimeout.WARN));
    assertThat(API.lifecycle().init().steps().getFirst().action())
        .isEqualTo(
            new InitAction.WaitTcp("worker", 5432, Duration.ofSeconds(30), Duration.ofSeconds(2)));
    assertThat(API.networking().endpoints())
        .extracting(EndpointSpec::containerPort)
        .containsExactly(80, 27015);
    assertThat(API.security().capabilities())
        .containsExactly(new Capability("CAP_NET_ADMIN"), new Capability("CAP_SYS_TIME"));
    assertThat(API.security().ulimits())
        .containsEntry("nofile", new UlimitSpec(Optional.of(1024L), Optional.of(-1L)));
    assertThat(API.placement().affinity()).contains(new Affinity.Pin("id=2"));
  }

  @Test
  void theOlderHostNetworkSwitchIsFoldedIn() {
    assertThat(service("worker").networking().effectiveMode()).isEqualTo(new NetworkMode.Host());
    assertThat(API.networking().effectiveMode())
        .isEqualTo(new NetworkMode.Bridge(Optional.of("front")));
  }

  @Test
  void aHealthCommandIsOneText() {
    var health = service("worker").lifecycle().health().orElseThrow();
    assertThat(health.check())
        .isInstanceOfSatisfying(
            HealthCheck.Command.class,
            check ->
                assertThat(check.command().words())
                    .containsExactly("/bin/sh", "-c", "test -f /ready"));
  }

  @Test
  void aPartialCapabilityBlockOfWasmIsEnough() {
    var wasm = service("plugin").wasm().orElseThrow();
    assertThat(wasm.capabilities().orElseThrow().metrics()).isEmpty();
  }

  @Test
  void halfOfTheOverlaysKeepsItsDefaults() {
    var overlays = API.networking().network().orElseThrow().overlays();
    assertThat(overlays.global().enabled()).isTrue();
    assertThat(overlays.global().isolated()).isFalse();
  }
}
