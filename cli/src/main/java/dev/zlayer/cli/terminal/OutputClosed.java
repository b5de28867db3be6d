package dev.zlayer.cli.terminal;

import dev.zlayer.error.Blame;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/**
 * Standard output or standard error cannot be written any more: the process that reads it has
 * ended, as {@code head} does, or the disk is full. Unchecked, since a print stream hides whatever
 * else its target throws, and the command would continue for nobody.
 */
public final class OutputClosed extends RuntimeException {
  /** As a shell reports a program that was ended by SIGPIPE. */
  public static final int EXIT_CODE = 141;

  private final boolean pipe;

  private OutputClosed(IOException cause) {
    super("cannot write the output: " + cause.getMessage(), cause);
    this.pipe = String.valueOf(cause.getMessage()).contains("Broken pipe");
  }

  public OutputClosed() {
    this(new IOException("Broken pipe"));
  }

  /** Whether it was a reader that ended, which is nothing to complain about. */
  public boolean pipe() {
    return pipe;
  }

  public int exitCode() {
    return pipe ? EXIT_CODE : Blame.OUTSIDE.exitCode();
  }

  /** A stream of this process that says so at once. */
  public static OutputStream checked(FileOutputStream out) {
    return new OutputStream() {
      @Override
      public void write(int one) {
        write(new byte[] {(byte) one}, 0, 1);
      }

      @Override
      public void write(byte[] bytes, int from, int length) {
        try {
          out.write(bytes, from, length);
        } catch (IOException e) {
          throw new OutputClosed(e);
        }
      }
    };
  }
}
