package dev.zlayer.host.file;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * Where everything lies: durable things below {@code data}, things that a reboot may take below
 * {@code run}. No other class contains a directory name.
 */
public record DataDir(Path data, Path run) {
  /** Where the one agent of a machine keeps what is durable. */
  public static final Path USUAL = Path.of("/var/lib/zlayer");

  /** Beside a volume, before its name: files of an image that are to be moved into it. */
  public static final String VOLUME_FILLING = ".filled-";

  private static final Path USUAL_RUN = Path.of("/run/zlayer");
  private static final Path OTHER_USER_MOUNTS = Path.of("/run/zlayer-userns");

  /** With {@code run} in memory for the usual directory, and below any other. */
  public static DataDir of(Path data) {
    return data.equals(USUAL) ? new DataDir(USUAL, USUAL_RUN) : under(data);
  }

  public static DataDir under(Path root) {
    return new DataDir(root, root.resolve("run"));
  }

  /**
   * Everything that is for the agent alone. What is left directly in {@code data} and {@code run}
   * are files that are private each, and the sockets.
   */
  List<Path> privateDirectories() {
    return List.of(
        images(),
        snapshots(),
        containers(),
        dispatch(),
        volumes(),
        networks(),
        artifacts(),
        ingressState(),
        gpus(),
        data.resolve("wasm"),
        data.resolve("wsl"),
        run.resolve("containers"),
        ociState(),
        networkRun(),
        mps(),
        secretFiles(),
        endpoints(),
        ingress());
  }

  /** Held by the one process that may change what is below. */
  public Path lockFile() {
    return data.resolve("lock");
  }

  /** Space for removals on a full disk. */
  public Path reserve() {
    return data.resolve("reserve");
  }

  public Path images() {
    return data.resolve("images");
  }

  /** Content by digest, as downloaded. */
  public Path imageBlobs() {
    return images().resolve("blobs");
  }

  /** Content on its way in. */
  public Path imageIngest() {
    return images().resolve("ingest");
  }

  /** Which references point to which images. */
  public Path imageIndex() {
    return images().resolve("index.json");
  }

  /** Layers as unpacked, by diff id. */
  public Path layers() {
    return images().resolve("layers");
  }

  public Path snapshots() {
    return data.resolve("snapshots");
  }

  public Path containers() {
    return data.resolve("containers");
  }

  /** Which runtime each container was given to. */
  public Path dispatch() {
    return data.resolve("dispatch");
  }

  public Path volumes() {
    return data.resolve("volumes");
  }

  /** Volumes without a name, removed with their container. */
  public Path anonymousVolumes(String container) {
    return volumes().resolve(".anonymous").resolve(container);
  }

  public ContainerDir container(String name) {
    return new ContainerDir(containers().resolve(name), run.resolve("containers").resolve(name));
  }

  /**
   * Mounts for containers with users of their own, who have to be able to pass through everything
   * above them. Whoever chose another directory for the data may not have seen to that.
   */
  public Path userMounts() {
    return data.equals(USUAL) ? run.resolve("userns") : OTHER_USER_MOUNTS.resolve(tag());
  }

  /** Containers that are WebAssembly modules. */
  public Path wasmContainers() {
    return data.resolve("wasm").resolve("containers");
  }

  public ContainerDir wasmContainer(String name) {
    return ContainerDir.whole(wasmContainers().resolve(name));
  }

  /** Modules that such containers were made of, by digest. */
  public Path wasmModules() {
    return data.resolve("wasm").resolve("modules");
  }

  /** What was compiled of modules, by their digest. */
  public Path wasmCompiled() {
    return data.resolve("wasm").resolve("compiled");
  }

  /** Records, logs and exit notes of containers that run in a WSL distribution. */
  public Path wslContainers() {
    return data.resolve("wsl").resolve("containers");
  }

  public ContainerDir wslContainer(String name) {
    return ContainerDir.whole(wslContainers().resolve(name));
  }

  /** Descriptions of the host's GPUs, and what was changed on them. */
  public Path gpus() {
    return data.resolve("gpu");
  }

  /** Of the MPS daemon that shares GPUs. */
  public Path mps() {
    return run.resolve("mps");
  }

  /** A few letters that differ between the agents of one machine. */
  public String tag() {
    var sum = new CRC32C();
    sum.update(data.toAbsolutePath().normalize().toString().getBytes(StandardCharsets.UTF_8));
    return HexFormat.of().toHexDigits((int) sum.getValue());
  }

  /** What the OCI runtime remembers about running containers. */
  public Path ociState() {
    return run.resolve("oci");
  }

  /** Network namespaces, attachments and given addresses. */
  public Path networkRun() {
    return run.resolve("network");
  }

  /** The named networks. */
  public Path networks() {
    return data.resolve("network");
  }

  /** Builds of images that are under way; nothing in it outlives them. */
  public Path builds() {
    return data.resolve("builds");
  }

  /** Where the agent's commands reach it. */
  public Path socket() {
    return run.resolve("zlayer.sock");
  }

  /** Where clients of Docker reach it. */
  public Path dockerSocket() {
    return run.resolve("docker.sock");
  }

  /** The process that serves. */
  public Path pidFile() {
    return run.resolve("zlayer.pid");
  }

  /** What a daemon in the background says. */
  public Path daemonLog() {
    return data.resolve("daemon.log");
  }

  /** Which tools were found to work. */
  public Path ociTools() {
    return run.resolve("oci-tools.json");
  }

  /** Everything durable that is not a blob: executions, schedules, events. */
  public Path stateFile() {
    return data.resolve("state.db");
  }

  /** It and what SQLite keeps beside it. */
  public List<Path> stateFiles() {
    return List.of(stateFile(), data.resolve("state.db-wal"), data.resolve("state.db-shm"));
  }

  /** Where a backup of the state is put together. */
  public Path backupStage() {
    return data.resolve("backup.partial");
  }

  /** Where one is unpacked. */
  public Path restoreStage() {
    return data.resolve("restore.partial");
  }

  /** There while the state is being replaced by that of a backup. */
  public Path restoreMark() {
    return data.resolve("restore.unfinished");
  }

  /** What the node and its containers used over the last day. */
  public Path metricHistory() {
    return data.resolve("metric-history");
  }

  /** What jobs asked to be kept of their containers' files. */
  public Path artifacts() {
    return data.resolve("artifacts");
  }

  /** The key that secrets are sealed with. */
  public Path secretKey() {
    return data.resolve("secret.key");
  }

  /** Secrets as files, in memory. */
  public Path secretFiles() {
    return run.resolve("secrets");
  }

  /** Which ports of this host are forwarded where, one file per service. */
  public Path endpoints() {
    return run.resolve("endpoints");
  }

  /** The same as a single file, by earlier versions. */
  public Path formerEndpoints() {
    return run.resolve("doors.json");
  }

  /** What operators set about routes, and the access log. */
  public Path ingressState() {
    return data.resolve("ingress");
  }

  /** What this node has of its cluster; there only while it is in one. */
  public Path cluster() {
    return data.resolve("cluster");
  }

  /** Configuration, records and sockets of the ingress. */
  public Path ingress() {
    return run.resolve("ingress");
  }

  /** Until when this node has its claims, and which containers watchdogs watch. */
  public Path claims() {
    return run.resolve("claims");
  }
}
