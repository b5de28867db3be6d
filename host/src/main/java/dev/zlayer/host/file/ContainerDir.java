package dev.zlayer.host.file;

import java.nio.file.Path;

/** What lies where in the directory of one container. */
public record ContainerDir(Path path) {
  /** Who it is and where it stands; written first, removed last. */
  public Path recordFile() {
    return path.resolve("record.json");
  }

  /** The OCI bundle; its monitor keeps sockets there too. */
  public Path bundle() {
    return path.resolve("bundle");
  }

  public Path config() {
    return bundle().resolve("config.json");
  }

  public Path attachSocket() {
    return bundle().resolve("attach");
  }

  /** Commands for the monitor: terminal sizes, reopening the log. */
  public Path control() {
    return bundle().resolve("ctl");
  }

  public Path logs() {
    return path.resolve("log");
  }

  /** Where its shared memory is mounted, so that other containers can be given it too. */
  public Path sharedMemory() {
    return path.resolve("shm");
  }

  /** Files shown inside under /etc. */
  public Path etc() {
    return path.resolve("etc");
  }

  /** What belongs to one run of the process, counted from 1. */
  public RunDir run(int number) {
    return new RunDir(runs().resolve(Integer.toString(number)));
  }

  public Path runs() {
    return path.resolve("run");
  }

  /** Files that the monitor of one run writes. */
  public record RunDir(Path path) {
    public Path monitorPid() {
      return path.resolve("monitor.pid");
    }

    public Path processPid() {
      return path.resolve("process.pid");
    }

    public Path monitorErrors() {
      return path.resolve("monitor.err");
    }

    /** How the run ended; the monitor names the file after the container. */
    public Path exitCode(String name) {
      return path.resolve(name);
    }

    /** Exists when the kernel killed for want of memory. */
    public Path outOfMemory() {
      return path.resolve("oom");
    }
  }

  /** One directory for each process run inside besides the first. */
  public Path execs() {
    return path.resolve("exec");
  }
}
