package dev.zlayer.tar;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.value.ByteSize;
import java.io.IOException;
import java.io.OutputStream;

/**
 * Passes an archive on until it grows over a limit: whoever makes one of files that a container
 * wrote cannot know how large it becomes.
 */
public final class LimitedOutput extends OutputStream {
  /** What one copy may have when nobody says otherwise. */
  public static final ByteSize DEFAULT = ByteSize.parse("100Gi");

  private final OutputStream out;
  private final ByteSize limit;
  private final String what;
  private long left;

  /**
   * Makes one.
   *
   * @param what is copied, and how to copy more, for the message: {@code /out: raise max_size}
   */
  public LimitedOutput(OutputStream out, ByteSize limit, String what) {
    this.out = out;
    this.limit = limit;
    this.what = what;
    this.left = limit.bytes();
  }

  @Override
  public void write(int b) throws IOException {
    take(1);
    out.write(b);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    take(length);
    out.write(bytes, offset, length);
  }

  private void take(int bytes) {
    left -= bytes;
    if (left < 0) {
      throw new AgentException.InvalidSpec("more than %s to copy: %s".formatted(limit, what));
    }
  }

  @Override
  public void flush() throws IOException {
    out.flush();
  }
}
