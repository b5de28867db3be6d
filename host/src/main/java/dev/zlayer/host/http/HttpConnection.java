package dev.zlayer.host.http;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Optional;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;

/**
 * One connection: buffered input, output that is sent at once. An interrupt of a thread that reads
 * or writes closes it, and so does {@link #close} from any thread.
 */
final class HttpConnection {
  private static final int BUFFER = 16 << 10;
  private static final int KEEP_ALIVE_SECONDS = 15;
  private static final int KEEP_ALIVE_TRIES = 3;

  private final SocketChannel channel;
  private final Optional<ProcessRelay> relay;
  private @Nullable SSLSocket tls;
  private InputStream in;
  private OutputStream out;

  /** Not connected yet, so that a deadline can already close it. */
  HttpConnection(HttpAddress address) throws IOException {
    this.relay =
        address instanceof HttpAddress.Program program
            ? Optional.of(ProcessRelay.start(program.command()))
            : Optional.empty();
    this.channel =
        relay.isPresent()
            ? relay.get().channel()
            : address instanceof HttpAddress.Unix
                ? SocketChannel.open(java.net.StandardProtocolFamily.UNIX)
                : SocketChannel.open();
    this.in = new BufferedInputStream(new ChannelInput(channel, relay), BUFFER);
    this.out = new ChannelOutput(channel);
  }

  void connect(HttpAddress address) throws IOException {
    // no switch: one over types is made at its first use, and a command has only that one
    if (address instanceof HttpAddress.Unix(var socket)) {
      channel.connect(UnixDomainSocketAddress.of(socket));
    } else if (address instanceof HttpAddress.Tcp(String host, int port)) {
      connect(host, port);
    } else if (address instanceof HttpAddress.Tls tlsAddress) {
      connect(tlsAddress.host(), tlsAddress.port());
      secure(tlsAddress);
    } // a program was started, and says by its end what is wrong
  }

  private void connect(String host, int port) throws IOException {
    var target = new InetSocketAddress(host, port);
    if (target.isUnresolved()) {
      throw new UnknownHostException("no address is known for host '" + host + "'");
    }
    channel.connect(target);
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    // a machine that lost its power ends nothing: what it streams would be awaited for ever
    channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
    channel.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, KEEP_ALIVE_SECONDS);
    channel.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, KEEP_ALIVE_SECONDS);
    channel.setOption(ExtendedSocketOptions.TCP_KEEPCOUNT, KEEP_ALIVE_TRIES);
  }

  private void secure(HttpAddress.Tls address) throws IOException {
    var socket =
        (SSLSocket)
            address
                .context()
                .getSocketFactory()
                .createSocket(channel.socket(), address.host(), address.port(), true);
    SSLParameters parameters = socket.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    socket.setSSLParameters(parameters);
    socket.startHandshake();
    tls = socket;
    in = new BufferedInputStream(socket.getInputStream(), BUFFER);
    out = socket.getOutputStream();
  }

  InputStream in() {
    return in;
  }

  OutputStream out() {
    return out;
  }

  /** Says that nothing more will be sent; reading goes on. */
  void closeOutput() throws IOException {
    if (tls != null) {
      tls.shutdownOutput();
    } else {
      channel.shutdownOutput();
    }
  }

  /**
   * Whether an idle connection can be used again: nothing came meanwhile, least of all its end. A
   * connection with TLS is not kept, since looking at it would take bytes from its records.
   */
  boolean fresh() {
    if (tls != null || !channel.isOpen()) {
      return false;
    }
    try {
      channel.configureBlocking(false);
      boolean silent = in.available() == 0 && channel.read(ByteBuffer.allocate(1)) == 0;
      channel.configureBlocking(true);
      return silent;
    } catch (IOException _) {
      return false;
    }
  }

  boolean reusable() {
    return tls == null && channel.isOpen();
  }

  void close() {
    try {
      channel.close();
    } catch (IOException _) {
      // it is gone either way
    }
  }

  private static final class ChannelInput extends InputStream {
    private final SocketChannel channel;
    private final Optional<ProcessRelay> relay;

    ChannelInput(SocketChannel channel, Optional<ProcessRelay> relay) {
      this.channel = channel;
      this.relay = relay;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      if (length == 0) {
        return 0;
      }
      int count = channel.read(ByteBuffer.wrap(bytes, offset, length));
      Optional<String> failure =
          count < 0 ? relay.flatMap(ProcessRelay::failure) : Optional.empty();
      if (failure.isPresent()) {
        throw new ConnectException(failure.get());
      }
      return count;
    }
  }

  private static final class ChannelOutput extends OutputStream {
    private final SocketChannel channel;

    ChannelOutput(SocketChannel channel) {
      this.channel = channel;
    }

    @Override
    public void write(int b) throws IOException {
      write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      ByteBuffer rest = ByteBuffer.wrap(bytes, offset, length);
      while (rest.hasRemaining()) {
        channel.write(rest);
      }
    }
  }
}
