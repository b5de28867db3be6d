package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonNotRunning;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.terminal.KeyboardLoop;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpAddress;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import picocli.CommandLine.Command;

/** What a command line of another machine runs here through ssh. */
@Command(
    name = "dial-stdio",
    hidden = true,
    description = "Connect standard input and output to the socket of the daemon")
public final class DialStdioCommand extends ClientCommand {
  private static final int BUFFER = 16 << 10;

  public DialStdioCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws IOException, InterruptedException {
    if (!(client.address().http() instanceof HttpAddress.Unix(Path socket))) {
      throw new AgentException.InvalidSpec(
          "the daemon of this machine is set to %s: name its socket instead"
              .formatted(client.address().http()));
    }
    try (var channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      if (!client.listens()) {
        throw DaemonNotRunning.at(socket);
      }
      channel.connect(UnixDomainSocketAddress.of(socket));
      KeyboardLoop.start(session.in(), new Sender(channel));
      ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
      while (channel.read(buffer) >= 0) {
        session.out().write(buffer.array(), 0, buffer.position());
        session.out().flush();
        buffer.clear();
      }
    }
    return 0;
  }

  private record Sender(SocketChannel channel) implements KeyboardLoop.Receiver {
    @Override
    public boolean keys(byte[] bytes, int length) throws IOException {
      ByteBuffer rest = ByteBuffer.wrap(bytes, 0, length);
      while (rest.hasRemaining()) {
        channel.write(rest);
      }
      return true;
    }

    @Override
    public void end() throws IOException {
      channel.shutdownOutput();
    }
  }
}
