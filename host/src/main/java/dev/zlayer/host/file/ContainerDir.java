package dev.zlayer.host.file;

import java.nio.file.Path;
import java.util.List;

/**
 * What lies where for one container. A run leaves a dozen files that mean nothing after a reboot;
 * in memory, no disk has to make and delete them.
 *
 * @param path what has to survive a reboot
 * @param run what belongs to processes, and goes with them
 */
public record ContainerDir(Path path, Path run) {
  /** With all of it in one place. */
  public static ContainerDir whole(Path path) {
    return new ContainerDir(path, path.resolve("run"));
  }

  /** Who it is and where it stands; written first, then added to, removed last. */
  public Path recordFile() {
    return path.resolve("record.json");
  }

  /** What the OCI runtime is told. */
  public Path config() {
    return path.resolve("config.json");
  }

  /** What is mounted for it where its own users can reach it. */
  public Path userMounts() {
    return path.resolve("mounts.json");
  }

  public Path logs() {
    return path.resolve("log");
  }

  /** Where memory is mounted for the output of a container that keeps it there. */
  public Path memoryLogs() {
    return run.resolve("log");
  }

  /** Where a file lies that is shown inside under that name of /etc. */
  public Path etc(String name) {
    return path.resolve(name);
  }

  /** How the last run ended; the monitor names the file after the container. */
  public Path exitCode(String name) {
    return path.resolve(name);
  }

  /** The OCI bundle; its monitor keeps sockets there too. */
  public Path bundle() {
    return run;
  }

  /** The configuration where a bundle has it: a link. */
  public Path bundleConfig() {
    return bundle().resolve("config.json");
  }

  public Path attachSocket() {
    return bundle().resolve("attach");
  }

  /** Commands for the monitor: terminal sizes, reopening the log. */
  public Path control() {
    return bundle().resolve("ctl");
  }

  /** Where its shared memory is mounted, so that other containers can be given it too. */
  public Path sharedMemory() {
    return run.resolve("shm");
  }

  /** Where a part of a volume is mounted that the container has mounted. */
  public Path subpath(int number) {
    return run.resolve("subpath-" + number);
  }

  public Path monitorPid() {
    return run.resolve("monitor.pid");
  }

  public Path processPid() {
    return run.resolve("process.pid");
  }

  public Path monitorErrors() {
    return run.resolve("monitor.err");
  }

  /** What the OCI runtime had to say when it created the container. */
  public Path runtimeLog() {
    return run.resolve("runtime.log");
  }

  /** Exists when the kernel killed for want of memory; the monitor makes it where it works. */
  public Path outOfMemory() {
    return run.resolve("oom");
  }

  /** Why its watchdog ended it, when it did. */
  public Path watchdogNote() {
    return run.resolve("watchdog");
  }

  /** One directory for each process run inside besides the first. */
  public Path execs() {
    return run.resolve("exec");
  }

  /** What one run leaves and the next must not find. */
  public List<Path> leftByRun(String name) {
    return List.of(
        exitCode(name),
        outOfMemory(),
        watchdogNote(),
        monitorPid(),
        processPid(),
        runtimeLog(),
        attachSocket(),
        control(),
        bundle().resolve("winsz"));
  }
}
