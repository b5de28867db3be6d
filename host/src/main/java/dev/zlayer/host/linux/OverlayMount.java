package dev.zlayer.host.linux;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Mounts overlayfs with as many layers as the kernel takes. Since 6.5 each layer can be given by a
 * call of its own. Before, all options have to fit into one page of mount(2), so that long names go
 * by descriptor; that is enough for about {@link #CLASSIC_LAYERS} layers.
 */
public final class OverlayMount {
  /** The kernel's own bound. */
  public static final int MAX_LAYERS = 500;

  /** What fits into a page when every layer is named by a descriptor of four digits. */
  static final int CLASSIC_LAYERS = 200;

  /** Set to true, mounts are made as on kernels before 6.5; for tests on newer ones. */
  static final String CLASSIC_PROPERTY = "zlayer.overlay.classic";

  /** Where layers are attached, beside the upper directory. */
  static final String ATTACHMENTS = "layers";

  private static final int AT_FDCWD = -100;
  private static final int AT_REMOVEDIR = 0x200;
  private static final int CLOEXEC = 1; // the same number for fsopen and fsmount
  private static final int SET_FLAG = 0;
  private static final int SET_STRING = 1;
  private static final int CREATE = 6;
  private static final int STRING_BYTES = 255;
  private static final int PAGE = 4096;
  private static final String HELD = "/proc/self/fd/";

  /** Root of a user namespace may not use attributes of the host's root, so there are others. */
  private static final boolean OWN_ATTRIBUTES = UserNamespaces.inside();

  /** What the names of attributes begin with by which layers speak to overlayfs. */
  public static final String ATTRIBUTES = OWN_ATTRIBUTES ? "user.overlay." : "trusted.overlay.";

  private static final String USER_ATTRIBUTES = "userxattr";

  /** Directories below and the options that keep the upper one free of references to them. */
  private static final List<String> OPTIONS =
      List.of(
          "index", "off", "metacopy", "off", "redirect_dir", OWN_ATTRIBUTES ? "nofollow" : "off");

  /** Learned from the first mount that only the classic way could make; saves the others a try. */
  private static volatile boolean classicKernel;

  /** Learned in the same way: this kernel takes layers with other owners only while attached. */
  private static volatile boolean attachedOnly;

  private final KernelCalls kernel;
  private final Optional<IdMapping> mapping;
  private final Path home;
  private final List<Integer> held = new ArrayList<>();
  private boolean attaching;
  private int attached;

  private OverlayMount(KernelCalls kernel, Optional<IdMapping> mapping, Path home) {
    this.kernel = kernel;
    this.mapping = mapping;
    this.home = home;
  }

  /**
   * Mounts at {@code target}; the mount is private, so mounts below it stay in this namespace.
   *
   * @param lowers top first; at least one, none twice
   */
  public static void mount(List<Path> lowers, Path upper, Path work, Path target)
      throws ErrnoException {
    mount(lowers, upper, work, target, Optional.empty());
  }

  /**
   * The same with other owners than on the disk. Kernels without such mounts, and those that do not
   * take them as layers (before 5.19), refuse it with EINVAL. Kernels before 6.15 take them only
   * while they are attached in this namespace: they are for a moment, in a directory beside {@code
   * upper}, see {@link #detachLayers}.
   *
   * @param upper has the parent of {@code work}
   */
  public static void mount(
      List<Path> lowers, Path upper, Path work, Path target, Optional<IdMapping> mapping)
      throws ErrnoException {
    boolean classic = classicKernel || Boolean.getBoolean(CLASSIC_PROPERTY);
    mount(lowers, upper, work, target, mapping, classic, attachedOnly);
  }

  /**
   * With {@code classic}, in the way of kernels before 6.5; with {@code attached}, of those before
   * 6.15.
   */
  static void mount(
      List<Path> lowers,
      Path upper,
      Path work,
      Path target,
      Optional<IdMapping> mapping,
      boolean classic,
      boolean attached)
      throws ErrnoException {
    Path home = Objects.requireNonNull(upper.toAbsolutePath().getParent());
    try (var kernel = new KernelCalls()) {
      var mount = new OverlayMount(kernel, mapping, home);
      try {
        mount.attaching = mapping.isPresent() && (classic || attached);
        if (classic) {
          mount.byString(lowers, upper, work, target);
        } else {
          mount.byEither(lowers, upper, work, target);
        }
        BindMount.makePrivate(kernel, target);
      } finally {
        mount.held.forEach(kernel::closeDescriptor);
        if (mount.attaching) {
          detachLayers(home);
        }
      }
    }
  }

  /**
   * Ends the attachments of layers that a mount in that directory was given; there are some only
   * while it is made, and after it when the process was killed meanwhile.
   */
  public static void detachLayers(Path directory) throws ErrnoException {
    Path attachments = directory.resolve(ATTACHMENTS);
    while (Mounts.mounted(attachments)) {
      Mounts.detach(attachments);
    }
    try (var kernel = new KernelCalls()) {
      String raw = KernelCalls.raw(attachments.toAbsolutePath());
      long place = kernel.first(raw).address();
      if (kernel.call(Syscall.UNLINKAT, AT_FDCWD, place, AT_REMOVEDIR, 0) < 0
          && kernel.errno() != ErrnoException.ENOENT) {
        throw kernel.failure("remove directory", raw);
      }
    }
  }

  /**
   * Tries the new calls first. From 5.2 to 6.4 the kernel takes every option without looking at it
   * and refuses the whole in the end; so a refusal is final only when mount(2) fails as well.
   */
  private void byEither(List<Path> lowers, Path upper, Path work, Path target)
      throws ErrnoException {
    @Nullable ErrnoException refusal = null;
    try {
      if (byCalls(lowers, upper, work, target)) {
        return;
      }
    } catch (ErrnoException e) {
      if (e.errno() != ErrnoException.EINVAL) {
        throw e;
      }
      refusal = e;
    }
    if (mapping.isPresent() && !attaching) {
      attaching = true;
      byEither(lowers, upper, work, target);
      attachedOnly = true;
      return;
    }
    try {
      byString(lowers, upper, work, target);
    } catch (ErrnoException e) {
      // the new calls explain what is wrong, mount(2) only numbers it
      throw refusal == null ? e : refusal;
    }
    classicKernel = true;
  }

  /** False when this kernel is too old for it. */
  private boolean byCalls(List<Path> lowers, Path upper, Path work, Path target)
      throws ErrnoException {
    int context =
        (int) kernel.call(Syscall.FSOPEN, kernel.first("overlay").address(), CLOEXEC, 0, 0);
    if (context < 0) {
      return false;
    }
    held.add(context);
    for (Path lower : lowers) {
      if (!set(context, "lowerdir+", name(lower, STRING_BYTES))) {
        return false;
      }
    }
    Path base = base(STRING_BYTES);
    boolean taken =
        set(context, "source", "overlay")
            && set(context, "upperdir", below(base, upper, STRING_BYTES))
            && set(context, "workdir", below(base, work, STRING_BYTES));
    for (int i = 0; i < OPTIONS.size(); i += 2) {
      taken &= set(context, OPTIONS.get(i), OPTIONS.get(i + 1));
    }
    if (OWN_ATTRIBUTES) {
      long key = kernel.first(USER_ATTRIBUTES).address();
      taken &= kernel.call(Syscall.FSCONFIG, context, SET_FLAG, key, 0, 0) >= 0;
    }
    if (!taken) {
      return false;
    }
    if (kernel.call(Syscall.FSCONFIG, context, CREATE, 0, 0, 0) < 0) {
      throw failure(context, target);
    }
    int mount = (int) kernel.call(Syscall.FSMOUNT, context, CLOEXEC, 0, 0);
    if (mount < 0) {
      throw failure(context, target);
    }
    held.add(mount);
    BindMount.attach(kernel, mount, target);
    return true;
  }

  private boolean set(int context, String key, String value) throws ErrnoException {
    long keyPlace = kernel.first(key).address();
    long valuePlace = kernel.second(value).address();
    return kernel.call(Syscall.FSCONFIG, context, SET_STRING, keyPlace, valuePlace, 0) >= 0;
  }

  private void byString(List<Path> lowers, Path upper, Path work, Path target)
      throws ErrnoException {
    String options = options(lowers, upper, work, PAGE);
    if (options.length() >= PAGE && mapping.isEmpty()) {
      options = options(lowers, upper, work, 0);
    }
    String raw = KernelCalls.raw(target.toAbsolutePath());
    if (options.length() >= PAGE) {
      throw new ErrnoException(
          "mount %d layers at %s (kernels before 6.5 take about %d)"
              .formatted(lowers.size(), raw, CLASSIC_LAYERS),
          ErrnoException.EINVAL);
    }
    long data = kernel.io().address();
    kernel.io().setString(0, options, StandardCharsets.ISO_8859_1);
    long type = kernel.second("overlay").address();
    long place = kernel.first(raw).address();
    if (kernel.call(Syscall.MOUNT, type, place, type, 0, data) < 0) {
      throw kernel.failure("mount overlay at", raw);
    }
  }

  /** Names longer than {@code longest}, or with a character that means something, are held. */
  private String options(List<Path> lowers, Path upper, Path work, int longest)
      throws ErrnoException {
    List<String> names = new ArrayList<>();
    for (Path lower : lowers) {
      names.add(name(lower, longest));
    }
    var options = new StringBuilder("lowerdir=").append(String.join(":", names));
    Path base = base(longest);
    options.append(",upperdir=").append(below(base, upper, longest));
    options.append(",workdir=").append(below(base, work, longest));
    for (int i = 0; i < OPTIONS.size(); i += 2) {
      options.append(',').append(OPTIONS.get(i)).append('=').append(OPTIONS.get(i + 1));
    }
    if (OWN_ATTRIBUTES) {
      options.append(',').append(USER_ATTRIBUTES);
    }
    return options.toString();
  }

  /** Where the writable directories are found: both have to be of one and the same mount. */
  private Path base(int longest) throws ErrnoException {
    return mapping.isPresent() ? Path.of(name(home, longest)) : home;
  }

  private String below(Path base, Path directory, int longest) throws ErrnoException {
    return mapping.isPresent()
        ? base.resolve(directory.getFileName()).toString()
        : name(directory, longest);
  }

  private String name(Path directory, int longest) throws ErrnoException {
    if (mapping.isPresent()) {
      int clone = BindMount.clone(kernel, directory, mapping);
      held.add(clone);
      if (attaching) {
        attach(clone);
      }
      return HELD + clone;
    }
    String raw = KernelCalls.raw(directory.toAbsolutePath());
    boolean plain = raw.length() <= longest && raw.chars().noneMatch(c -> ",:\\".indexOf(c) >= 0);
    if (plain) {
      return raw;
    }
    long flags = OpenDirectory.O_PATH | OpenDirectory.O_CLOEXEC | Syscall.O_DIRECTORY;
    int opened = (int) kernel.call(Syscall.OPENAT, AT_FDCWD, kernel.first(raw).address(), flags, 0);
    if (opened < 0) {
      throw kernel.failure("open", raw);
    }
    held.add(opened);
    return HELD + opened;
  }

  /**
   * In a file system of its own, so that nothing of it appears in other namespaces and all of it
   * ends at once.
   */
  private void attach(int clone) throws ErrnoException {
    Path attachments = home.resolve(ATTACHMENTS);
    if (attached == 0) {
      detachLayers(home);
      makeDirectory(attachments);
      Mounts.tmpfs(attachments, "mode=0700");
      BindMount.makePrivate(kernel, attachments);
    }
    Path place = attachments.resolve(Integer.toString(attached++));
    makeDirectory(place);
    BindMount.attach(kernel, clone, place);
  }

  private void makeDirectory(Path directory) throws ErrnoException {
    String raw = KernelCalls.raw(directory.toAbsolutePath());
    if (kernel.call(Syscall.MKDIRAT, AT_FDCWD, kernel.first(raw).address(), 0700, 0) < 0) {
      throw kernel.failure("make directory", raw);
    }
  }

  /** The kernel explains itself in messages that are read from the context. */
  private ErrnoException failure(int context, Path target) {
    int errno = kernel.errno();
    var text = new StringBuilder();
    long length = kernel.call(Syscall.READ, context, kernel.io().address(), 1024, 0);
    while (length > 0) {
      text.append(OpenDirectory.text(kernel.io(), 0, length).strip()).append("; ");
      length = kernel.call(Syscall.READ, context, kernel.io().address(), 1024, 0);
    }
    String raw = KernelCalls.raw(target.toAbsolutePath());
    return new ErrnoException("mount overlay at " + KernelCalls.readable(raw + " " + text), errno);
  }
}
