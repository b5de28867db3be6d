package dev.zlayer.engine.translate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.Mount;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.Resources;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.container.Signal;
import dev.zlayer.engine.job.JobDefinition;
import dev.zlayer.engine.job.Jobs;
import dev.zlayer.engine.job.Overrides;
import dev.zlayer.engine.job.TranslatedContainers;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.Platform;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.form.Inline;
import dev.zlayer.spec.value.SecretRef;
import java.lang.reflect.RecordComponent;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ServiceTranslatorTest {
  private static final Path DIRECTORY = Path.of("/srv/shop");
  private static final ContainerId OTHER = ContainerId.of("shop", "db", 1);

  private static ServiceTranslator translator() {
    EnvSource env = name -> Optional.ofNullable(Map.of("HOME_REGION", "eu").get(name));
    SecretSource secrets =
        (deployment, scope, name) ->
            scope instanceof SecretRef.OfDeployment && deployment.equals("shop")
                ? Optional.ofNullable(
                    Map.of("token", "t0p", "db", "{\"user\":\"u\",\"port\":5432,\"none\":null}")
                        .get(name))
                : Optional.empty();
    return new ServiceTranslator(
        new EnvResolver(env, secrets),
        (_, id) -> id.equals("db") ? Optional.of(OTHER) : Optional.empty(),
        (file, value) -> new Mount.Bind(Path.of("/memory/" + value), file.path(), true));
  }

  static JobDefinition definition(String keys) {
    return Jobs.parse("web:\n" + ("image: app:1\n" + keys).indent(2)).getFirst();
  }

  private static ContainerSpec translate(String keys) {
    return translator().translate("shop", "web", definition(keys).service(), DIRECTORY);
  }

  @Test
  void withoutAnythingWrittenTheDefaultsAreTheContainersOwn() {
    ContainerSpec spec = translate("");

    ContainerSpec usual = ContainerSpec.of(spec.image());
    assertThat(spec.process()).isEqualTo(usual.process());
    assertThat(spec.fileSystem()).isEqualTo(usual.fileSystem());
    assertThat(spec.network()).isEqualTo(usual.network());
    assertThat(spec.resources()).isEqualTo(usual.resources());
    assertThat(spec.security()).isEqualTo(usual.security());
    assertThat(spec.stop().grace()).isEqualTo(Duration.ofSeconds(10));
    assertThat(spec.labels())
        .isEqualTo(Map.of("com.zlayer.deployment", "shop", "com.zlayer.service", "web"));
  }

  @Test
  void processAndStop() {
    ContainerSpec spec =
        translate(
            """
            command: {entrypoint: [/bin/app], args: [-v], workdir: /srv}
            user: 1000:users
            extra_groups: [audio, "20"]
            tty: true
            stdin_open: true
            init_container: true
            stop_signal: INT
            stop_grace_period: 3s
            labels: {tier: front}
            platform: {os: linux, arch: arm64}
            """);

    assertThat(spec.process().entrypoint()).contains(List.of("/bin/app"));
    assertThat(spec.process().args()).contains(List.of("-v"));
    assertThat(spec.process().workdir()).contains("/srv");
    assertThat(spec.process().user()).contains("1000:users");
    assertThat(spec.process().extraGroups()).containsExactly("audio", "20");
    assertThat(spec.process().terminal()).isTrue();
    assertThat(spec.process().stdin()).isTrue();
    assertThat(spec.process().init()).isTrue();
    assertThat(spec.stop().signal()).contains(Signal.parse("INT"));
    assertThat(spec.stop().grace()).isEqualTo(Duration.ofSeconds(3));
    assertThat(spec.labels()).containsEntry("tier", "front");
    assertThat(spec.platform()).contains(Platform.of("linux", "arm64"));
  }

  @Test
  void storage() {
    ContainerSpec spec =
        translate(
            """
            read_only_root_fs: true
            storage:
              - {type: bind, source: ./conf, target: /etc/app, readonly: true}
              - {type: named, name: data, target: /data}
              - {type: anonymous, target: /cache}
              - {type: tmpfs, target: /tmp, size: 1Mi, mode: 0o1777}
            """);

    assertThat(spec.fileSystem().readOnlyRoot()).isTrue();
    assertThat(spec.fileSystem().mounts())
        .containsExactly(
            new Mount.Bind(Path.of("/srv/shop/conf"), "/etc/app", true),
            new Mount.Named("data", "/data", false),
            new Mount.Anonymous("/cache"),
            new Mount.Tmpfs("/tmp", OptionalLong.of(1 << 20), OptionalInt.of(01777)));
  }

  @Test
  void network() throws Exception {
    ContainerSpec spec =
        translate(
            """
            hostname: front
            dns: [192.0.2.53]
            extra_hosts: ["db:192.0.2.7", "me:host-gateway"]
            expose: [80]
            port_mappings:
              - {host_port: 8080, container_port: 80}
              - {container_port: 53, protocol: udp, host_ip: 127.0.0.1}
            """);

    NetworkSpec network = spec.network();
    assertThat(network.mode()).isEqualTo(new NetworkSpec.Mode.Bridge(Optional.empty()));
    assertThat(network.hostname()).contains("front");
    assertThat(network.dns()).containsExactly(InetAddress.getByName("192.0.2.53"));
    assertThat(network.hosts()).isEqualTo(Map.of("db", "192.0.2.7", "me", "host-gateway"));
    assertThat(network.ports())
        .containsExactly(
            new NetworkSpec.Port(
                OptionalInt.of(8080), 80, NetworkSpec.Protocol.TCP, Optional.empty()),
            new NetworkSpec.Port(
                OptionalInt.empty(),
                53,
                NetworkSpec.Protocol.UDP,
                Optional.of(InetAddress.getByName("127.0.0.1"))));
    assertThat(translate("network_mode: host").network().mode())
        .isEqualTo(new NetworkSpec.Mode.Host());
    assertThat(translate("network_mode: none").network().mode())
        .isEqualTo(new NetworkSpec.Mode.None());
    assertThat(translate("network_mode: bridge:inner").network().mode())
        .isEqualTo(new NetworkSpec.Mode.Bridge(Optional.of("inner")));
    assertThat(translate("network_mode: container:db").network().mode())
        .isEqualTo(new NetworkSpec.Mode.Shared(OTHER));
    assertThatThrownBy(() -> translate("network_mode: container:gone"))
        .isInstanceOf(AgentException.NotFound.class)
        .hasMessageContaining("container 'gone'");
  }

  @Test
  void resources() {
    Resources resources =
        translate(
                """
                resources:
                  cpu: 0.5
                  memory: 64Mi
                  pids_limit: -1
                  cpuset: 0-1
                  cpu_shares: 512
                  memory_swap: -1
                  memory_reservation: 32Mi
                  memory_swappiness: 10
                  oom_score_adj: 100
                  oom_kill_disable: true
                  blkio_weight: 300
                ulimits: {nofile: {soft: 10, hard: 20}, core: 0}
                cgroup_parent: /jobs
                """)
            .resources();

    assertThat(resources)
        .isEqualTo(
            new Resources(
                OptionalDouble.of(0.5),
                OptionalLong.of(512),
                Optional.of("0-1"),
                OptionalLong.of(64 << 20),
                OptionalLong.of(-1),
                OptionalLong.of(32 << 20),
                OptionalInt.of(10),
                OptionalLong.empty(),
                OptionalInt.of(100),
                true,
                OptionalInt.of(300),
                Map.of("nofile", new Resources.Ulimit(10, 20), "core", new Resources.Ulimit(0, 0)),
                Optional.of("/jobs")));
  }

  @Test
  void security() {
    SecuritySpec security =
        translate(
                """
                cap_add: [NET_ADMIN]
                cap_drop: [ALL]
                security_opt: ["no-new-privileges:false", "seccomp=/etc/p.json", "label=disable"]
                pid_mode: host
                ipc_mode: container:db
                userns_mode: host
                sysctls: {net.core.somaxconn: "1024"}
                devices: [{path: /dev/fuse, write: false}]
                """)
            .security();

    assertThat(security)
        .isEqualTo(
            new SecuritySpec(
                    List.of("CAP_NET_ADMIN"),
                    List.of("ALL"),
                    new SecuritySpec.Seccomp.Profile(Path.of("/etc/p.json")),
                    false,
                    false,
                    new SecuritySpec.Namespace.Host(),
                    new SecuritySpec.Namespace.Shared(OTHER),
                    Map.of("net.core.somaxconn", "1024"),
                    List.of(new SecuritySpec.Device(Path.of("/dev/fuse"), true, false, false)))
                .withUsers(SecuritySpec.Users.HOST));
    assertThat(translate("userns_mode: private").security().users())
        .contains(SecuritySpec.Users.PRIVATE);
    assertThat(translate("privileged: false").security().users()).isEmpty();
    assertThat(translate("security_opt: [no-new-privileges]").security().noNewPrivileges())
        .isTrue();
    assertThat(security.apparmor()).isEmpty();
    assertThat(translate("security_opt: ['apparmor=strict']").security().apparmor())
        .contains("strict");
    assertThat(translate("security_opt: ['apparmor:unconfined']").security().apparmor())
        .contains("unconfined");
    assertThat(translate("privileged: true").security().privileged()).isTrue();
    assertThat(translate("ipc_mode: shareable").security().ipc())
        .isEqualTo(new SecuritySpec.Namespace.Private());
  }

  @Test
  void gpuAndLogs() {
    assertThat(translate("resources: {gpu: {model: A100}}").gpu().flatMap(GpuRequest::model))
        .contains("A100");
    assertThat(translate("logs: {max_size_bytes: 4Mi}").logs().maxFileBytes()).isEqualTo(1 << 20);
    assertThat(translate("logs: {max_size_bytes: 4Mi}").logs().files()).isEqualTo(4);
    assertThat(translate("logs: {max_size_bytes: 4Mi}").logs().inMemory()).isFalse();
    assertThat(translate("logs: {destination: memory}").logs().inMemory()).isTrue();
  }

  @Test
  void referencesAreResolved() {
    ContainerSpec spec =
        translate(
            """
            env:
              PLAIN: text
              REGION: $E:HOME_REGION
              TOKEN: $S:token
              URL: "db://${S:db/user}@host:${S:db/port}/${S:db/none}"
              LITERAL: $$S:token
            """);

    assertThat(spec.process().env())
        .isEqualTo(
            Map.of(
                "PLAIN", "text",
                "REGION", "eu",
                "TOKEN", "t0p",
                "URL", "db://u@host:5432/",
                "LITERAL", "$S:token"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "$E:NOT_SET | variable NOT_SET",
        "$S:missing | secret missing",
        "$S:@web/token | secret token",
        "$S:db/nothing | field nothing of secret db",
      })
  void referencesThatLeadNowhereFail(String value, String what) {
    assertThatThrownBy(() -> translate("env: {X: \"" + value + "\"}"))
        .isInstanceOf(AgentException.NotFound.class)
        .hasMessageContaining(what);
  }

  @Test
  void secretsAreMountedAsFiles() {
    ContainerSpec spec =
        translate("secrets: [token, {name: db/user, target: /etc/user, mode: 0o400}]");

    assertThat(spec.fileSystem().mounts())
        .containsExactly(
            new Mount.Bind(Path.of("/memory/t0p"), "/run/secrets/token", true),
            new Mount.Bind(Path.of("/memory/u"), "/etc/user", true));
    assertThatThrownBy(() -> translate("secrets: [missing]"))
        .isInstanceOf(AgentException.NotFound.class)
        .hasMessageContaining("secret missing");
  }

  @Test
  void aSecretIsNeverShown() {
    assertThatThrownBy(() -> translate("env: {X: $S:token/field}"))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageNotContaining("t0p");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "image: {name: app:1, source_policy: remote_only} | image.source_policy",
        "storage: [{type: named, name: a, target: /a, size: 1Gi}] | storage[0].size",
        "storage: [{type: named, name: a, target: /a, tier: network}] | storage[0].tier",
        "storage: [{type: s3, bucket: abc, target: /a}] | storage[0].readonly",
        "storage: [{type: s3, bucket: abc, target: /a, readonly: true, credentials: a/b}] |"
            + " storage[0].credentials",
        "ipc_mode: none | ipc_mode",
        "security_opt: ['label=type:strict'] | security_opt[0]",
        "'rtype: job\nlogs: {destination: memory}' | logs.destination",
        "node_mode: exclusive | node_mode",
        "node_selector: {labels: {disk: ssd}} | node_selector",
        "affinity: spread | affinity",
        "isolation: process | isolation",
        "overlay: {mode: dedicated} | overlay.mode",
        "network: {} | network",
        "resources: {gpu: {scheduling: gang}} | resources.gpu.scheduling",
        "resources: {gpu: {vendor: apple, mode: native}} | resources.gpu.mode",
        "resources: {gpu: {distributed: {}}} | resources.gpu.distributed",
      })
  void whatCannotBeHonouredIsRefusedWithItsPath(String key, String path) {
    String keys = key.startsWith("image:") ? key : "image: app:1\n" + key;
    ServiceSpec service = Jobs.parse("web:\n" + keys.indent(2)).getFirst().service();

    assertThatThrownBy(() -> translator().translate("shop", "web", service, DIRECTORY))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("services.web." + path + ": ");
  }

  @Test
  void sharingThatIsolationRulesOutIsASharingError() {
    assertThatThrownBy(() -> translate("isolation: hyperv\nresources: {gpu: {mode: mps}}"))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class)
        .hasMessageContaining("hyperv");
  }

  @Test
  void everythingThatIsRefusedIsToldAtOnce() {
    assertThatThrownBy(() -> translate("ipc_mode: none\naffinity: spread"))
        .hasMessageContaining("services.web.ipc_mode")
        .hasMessageContaining("services.web.affinity");
  }

  @Test
  void aTriggerOverridesArgumentsAndVariables() {
    JobDefinition job = definition("rtype: job\ncommand: {args: [a]}\nenv: {A: '1', B: '2'}");
    var overrides =
        new Overrides(Optional.of(List.of("x", "y")), Map.of("B", "3"), Optional.empty());

    ContainerSpec spec =
        new TranslatedContainers(translator(), _ -> DIRECTORY).spec(job, overrides);

    assertThat(spec.process().args()).contains(List.of("x", "y"));
    assertThat(spec.process().env()).isEqualTo(Map.of("A", "1", "B", "3"));
  }

  /** A key that is new in the file must be put into one of these sets by whoever adds it. */
  @Test
  void everyKeyHasItsPlace() {
    Set<String> container =
        Set.of(
            "image",
            "command",
            "env",
            "labels",
            "resources",
            "secrets",
            "storage",
            "portMappings",
            "networkMode",
            "hostNetwork",
            "hostname",
            "dns",
            "extraHosts",
            "expose",
            "network",
            "overlay",
            "capabilities",
            "capDrop",
            "privileged",
            "user",
            "extraGroups",
            "readOnlyRootFs",
            "securityOpt",
            "pidMode",
            "ipcMode",
            "usernsMode",
            "sysctls",
            "ulimits",
            "devices",
            "cgroupParent",
            "tty",
            "stdinOpen",
            "initContainer",
            "stopSignal",
            "stopGracePeriod",
            "platform",
            "nodeMode",
            "nodeSelector",
            "affinity",
            "isolation",
            "serviceType",
            "wasm",
            "logs");
    Set<String> engine =
        Set.of(
            "localhostReachability",
            "rtype",
            "schedule",
            "endpoints",
            "singleInstance",
            "scale",
            "replicaGroups",
            "depends",
            "health",
            "init",
            "errors",
            "restartPolicy",
            "update",
            "exit",
            "job",
            "cron");
    var all = new TreeSet<>(container);
    all.addAll(engine);

    assertThat(keys(ServiceSpec.class)).isEqualTo(all);
  }

  private static Set<String> keys(Class<?> type) {
    var keys = new TreeSet<String>();
    for (RecordComponent component : type.getRecordComponents()) {
      if (component.isAnnotationPresent(Inline.class)) {
        keys.addAll(keys(component.getType()));
      } else {
        keys.add(component.getName());
      }
    }
    return keys;
  }
}
