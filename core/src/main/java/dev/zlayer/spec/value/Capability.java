package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import dev.zlayer.spec.problem.Nearest;
import java.util.List;
import java.util.Locale;

/** A Linux capability as {@code CAP_...}, or {@code ALL}. */
@TextForm(is = "a capability", example = "NET_BIND_SERVICE", pattern = "^[A-Za-z_]+$")
public record Capability(String name) {
  public static final Capability ALL = new Capability("ALL");

  /** In the order of their numbers in the kernel. */
  public static final List<String> NAMES =
      List.of(
          "CHOWN",
          "DAC_OVERRIDE",
          "DAC_READ_SEARCH",
          "FOWNER",
          "FSETID",
          "KILL",
          "SETGID",
          "SETUID",
          "SETPCAP",
          "LINUX_IMMUTABLE",
          "NET_BIND_SERVICE",
          "NET_BROADCAST",
          "NET_ADMIN",
          "NET_RAW",
          "IPC_LOCK",
          "IPC_OWNER",
          "SYS_MODULE",
          "SYS_RAWIO",
          "SYS_CHROOT",
          "SYS_PTRACE",
          "SYS_PACCT",
          "SYS_ADMIN",
          "SYS_BOOT",
          "SYS_NICE",
          "SYS_RESOURCE",
          "SYS_TIME",
          "SYS_TTY_CONFIG",
          "MKNOD",
          "LEASE",
          "AUDIT_WRITE",
          "AUDIT_CONTROL",
          "SETFCAP",
          "MAC_OVERRIDE",
          "MAC_ADMIN",
          "SYSLOG",
          "WAKE_ALARM",
          "BLOCK_SUSPEND",
          "AUDIT_READ",
          "PERFMON",
          "BPF",
          "CHECKPOINT_RESTORE");

  /** With or without {@code CAP_}, in any case. */
  public static Capability parse(String text) {
    String upper = text.toUpperCase(Locale.ROOT);
    String word = upper.startsWith("CAP_") ? upper.substring(4) : upper;
    if (upper.equals(ALL.name)) {
      return ALL;
    }
    if (!NAMES.contains(word)) {
      String hint =
          Nearest.to(word, NAMES)
              .map(name -> ", did you mean '" + name + "'?")
              .orElse(", write a name such as NET_ADMIN");
      throw new AgentException.InvalidSpec("'%s' is not a capability%s".formatted(text, hint));
    }
    return new Capability("CAP_" + word);
  }
}
