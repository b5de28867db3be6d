package dev.zlayer.runtime.oci.config;

import dev.zlayer.container.Mount;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.UnixPath;
import dev.zlayer.host.linux.CgroupSupport;
import dev.zlayer.json.Json;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** The {@code mounts} part: the kernel's file systems, then binds and tmpfs, outer before inner. */
final class MountsSection {
  private record Entry(String target, Json json) {}

  private MountsSection() {}

  static List<Json> of(BundleInput input) {
    var entries = new ArrayList<Entry>();
    input.binds().forEach(bind -> entries.add(bind(bind, input.host())));
    input.extra().binds().forEach(bind -> entries.add(bind(bind, input.host())));
    for (Mount mount : input.spec().fileSystem().mounts()) {
      if (mount instanceof Mount.Tmpfs tmpfs) {
        entries.add(tmpfs(tmpfs));
      }
    }
    if (input.spec().process().init()) {
      Path init =
          input
              .host()
              .init()
              .orElseThrow(
                  () ->
                      new AgentException.Configuration(
                          "an init process was asked for and none is installed: install the package"
                              + " catatonit or tini"));
      entries.add(bind(new BundleInput.Bind(init, OciProcess.INIT_PATH, true), input.host()));
    }
    entries.sort(Comparator.comparingInt(entry -> Path.of(entry.target()).getNameCount()));
    var mounts = new ArrayList<Json>();
    for (Entry base : base(input.spec().security(), input.sharedMemory())) {
      if (entries.stream().noneMatch(entry -> entry.target().equals(base.target()))) {
        mounts.add(base.json());
      }
    }
    entries.forEach(entry -> mounts.add(entry.json()));
    return mounts;
  }

  /** Checks a target and brings it into the one form by which targets are compared. */
  static String target(String target) {
    if (!target.startsWith("/") || target.indexOf('\0') >= 0) {
      throw new AgentException.InvalidSpec(
          "mount target '%s' has to be an absolute path".formatted(target));
    }
    Path normal = Path.of(target).normalize();
    if (normal.getNameCount() == 0) {
      throw new AgentException.InvalidSpec("nothing can be mounted over the root");
    }
    return UnixPath.text(normal);
  }

  private static List<Entry> base(SecuritySpec security, Path sharedMemory) {
    String access = security.privileged() ? "rw" : "ro";
    var base = new ArrayList<Entry>();
    base.add(entry("/proc", "proc", "proc", "nosuid", "noexec", "nodev"));
    base.add(entry("/dev", "tmpfs", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"));
    base.add(
        entry(
            "/dev/pts",
            "devpts",
            "devpts",
            "nosuid",
            "noexec",
            "newinstance",
            "ptmxmode=0666",
            "mode=0620",
            "gid=5"));
    base.add(entry("/sys", "sysfs", "sysfs", "nosuid", "noexec", "nodev", access));
    base.add(
        entry(
            UnixPath.text(CgroupSupport.mountPoint()),
            "cgroup",
            "cgroup",
            "nosuid",
            "noexec",
            "nodev",
            "relatime",
            access));
    base.add(entry("/dev/mqueue", "mqueue", "mqueue", "nosuid", "noexec", "nodev"));
    base.add(
        new Entry(
            "/dev/shm",
            mount(
                "/dev/shm",
                "bind",
                UnixPath.text(sharedMemory),
                List.of("rbind", "rprivate", "rw"))));
    return base;
  }

  private static Entry bind(BundleInput.Bind bind, KernelFacts host) {
    var options = new ArrayList<>(List.of("rbind", bind.propagation().word()));
    options.add(bind.readOnly() ? "ro" : "rw");
    if (bind.readOnly() && host.mountOptions().contains("rro")) {
      options.add("rro");
    }
    bind.restrictions().stream().filter(option -> !option.equals("ro")).forEach(options::add);
    return new Entry(
        bind.target(), mount(bind.target(), "bind", UnixPath.text(bind.source()), options));
  }

  private static Entry tmpfs(Mount.Tmpfs tmpfs) {
    String target = target(tmpfs.target());
    var options = new ArrayList<>(List.of("nosuid", "nodev", "noexec"));
    tmpfs.sizeBytes().ifPresent(size -> options.add("size=" + size));
    tmpfs.mode().ifPresent(mode -> options.add(String.format(Locale.ROOT, "mode=%04o", mode)));
    return new Entry(target, mount(target, "tmpfs", "tmpfs", options));
  }

  private static Entry entry(String target, String type, String source, String... options) {
    return new Entry(target, mount(target, type, source, List.of(options)));
  }

  private static Json mount(String target, String type, String source, List<String> options) {
    return Json.object()
        .put("destination", target)
        .put("type", type)
        .put("source", source)
        .put("options", options)
        .build();
  }
}
