package dev.zlayer.daemon.cluster;

import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.host.http.Duplex;
import dev.zlayer.host.http.Patience;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.TaskScope;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;

/** Bytes both ways until one side ends, or the other node does not answer any more. */
record PeerConversation(Duplex connection, Duration silence, Patience patience)
    implements ApiResponse.Conversation {
  @Override
  public void run(InputStream in, OutputStream out) throws IOException, InterruptedException {
    try (connection;
        var scope = new TaskScope("relay to a node")) {
      var _ =
          scope.fork(
              () -> {
                try {
                  copy(in, connection.output());
                  connection.closeOutput();
                } catch (IOException _) {
                  connection.close(); // one of the two has disconnected
                }
                return true;
              });
      var heard = new AtomicBoolean();
      var _ = scope.fork(() -> follow(heard));
      copy(connection.input(), new HeardOutput(out, heard));
    }
  }

  private boolean follow(AtomicBoolean heard) throws InterruptedException {
    do {
      Pauses.REAL.pause(silence);
    } while (heard.getAndSet(false) || patience.waits());
    connection.close();
    return false;
  }

  @Override
  public void abandon() {
    connection.close();
  }

  /** Every piece is passed on when it comes. */
  static void copy(InputStream in, OutputStream out) throws IOException {
    var buffer = new byte[16 << 10];
    for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
      out.write(buffer, 0, count);
      out.flush();
    }
  }

  /** What is written was heard. */
  private static final class HeardOutput extends FilterOutputStream {
    private final AtomicBoolean heard;

    HeardOutput(OutputStream out, AtomicBoolean heard) {
      super(out);
      this.heard = heard;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      heard.set(true);
      out.write(bytes, offset, length);
    }
  }
}
