package dev.zlayer.host.linux;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A program as it was, in memory, where nobody can change what is in it, not even root. It goes
 * with this process and the last one that runs it, however they end.
 */
public final class SealedCopy implements AutoCloseable {
  private static final Path SELINUX = Path.of("/sys/fs/selinux/enforce");

  private final OwnedDescriptor descriptor;

  private SealedCopy(OwnedDescriptor descriptor) {
    this.descriptor = descriptor;
  }

  /**
   * Whether a copy may do all that its program may: not where rights come with a path, as those of
   * ordinary users do with AppArmor, and all with SELinux.
   */
  public static boolean asGoodAsFiles() {
    return !UserNamespaces.inside() && !Files.exists(SELINUX);
  }

  /** Of what the file holds now. */
  public static SealedCopy of(Path program) throws IOException {
    try (OwnedDescriptor file = Descriptors.program(program.getFileName().toString())) {
      try (var using = file.use();
          OutputStream content =
              Files.newOutputStream(Path.of("/proc/self/fd/" + using.number()))) {
        long _ = Files.copy(program, content);
      }
      return new SealedCopy(Descriptors.seal(file));
    }
  }

  OwnedDescriptor descriptor() {
    return descriptor;
  }

  /** Who is starting it now still does. */
  @Override
  public void close() {
    descriptor.close();
  }
}
