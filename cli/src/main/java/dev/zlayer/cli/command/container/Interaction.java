package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.Channel;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.cli.terminal.KeyboardLoop;
import dev.zlayer.cli.terminal.Terminal;
import dev.zlayer.container.DetachKeys;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A person and a process, connected: keys there, output here, until one of them leaves. With a
 * terminal every key goes through, ^C included; without one ^C becomes a signal for the process.
 */
public final class Interaction {
  private static final int KILL_AFTER = 3;

  private final Session session;
  private final Channel channel;
  private final boolean terminal;
  private final boolean own;
  private final AtomicBoolean detached = new AtomicBoolean();
  private final AtomicInteger signals = new AtomicInteger();
  private final long[] printed = new long[2];

  /**
   * @param own the process is the container's own: it gets signals, and goes on when the person
   *     leaves
   */
  public Interaction(Session session, Channel channel, boolean terminal, boolean own) {
    this.session = session;
    this.channel = channel;
    this.terminal = terminal;
    this.own = own;
  }

  /** How many bytes of each stream were printed, for one who continues with the log. */
  public long printed(boolean stderr) {
    return printed[stderr ? 1 : 0];
  }

  /** How it ended; no code when the person left, or when the daemon does not know one. */
  public record End(OptionalInt code, boolean detached) {}

  public End run(boolean withInput) throws InterruptedException {
    List<Terminal.Undo> undos = new ArrayList<>();
    try (channel) {
      if (terminal) {
        undos.add(session.screen().raw());
        undos.add(session.screen().onSignal("WINCH", this::resize));
        resize(); // only now: a change between the two would be missed
      } else if (own) {
        undos.add(session.screen().onSignal("INT", () -> signal("INT")));
        undos.add(session.screen().onSignal("TERM", () -> signal("TERM")));
      }
      if (withInput) {
        KeyboardLoop.start(session.in(), new Keys());
      }
      return receive();
    } finally {
      undos.reversed().forEach(Terminal.Undo::close);
    }
  }

  private End receive() throws InterruptedException {
    try {
      for (Optional<Channel.Frame> frame = channel.next();
          frame.isPresent();
          frame = channel.next()) {
        switch (frame.get()) {
          case Channel.Frame.Bytes(int stream, byte[] bytes) -> {
            PrintStream out = stream == 2 ? session.err() : session.out();
            out.write(bytes, 0, bytes.length);
            out.flush();
            printed[stream == 2 ? 1 : 0] += bytes.length;
          }
          case Channel.Frame.Word(Json word) -> {
            word.at("discarded").integer().ifPresent(this::discarded);
            word.at("gap").bool().filter(gap -> gap).ifPresent(_ -> gap());
            Optional<End> end = end(word);
            if (end.isPresent()) {
              return end.get();
            }
          }
        }
      }
    } catch (RuntimeException e) {
      if (!detached.get()) {
        throw e;
      }
    }
    return new End(OptionalInt.empty(), detached.get());
  }

  private void discarded(long bytes) {
    session
        .err()
        .printf(
            "zlayer: %d bytes of output were read too slowly and are not shown; read them with"
                + " 'zlayer logs'%n",
            bytes);
  }

  private void gap() {
    session
        .err()
        .println("zlayer: output before this point is missing or may be: the log was rotated");
  }

  private static Optional<End> end(Json word) {
    if (!word.at("error").isNull()) {
      throw new DaemonProblem(word.at("error"));
    }
    Json exit = word.at("exit");
    if (exit.isNull()) {
      return Optional.empty();
    }
    OptionalInt code =
        exit.at("code")
            .integer()
            .map(value -> OptionalInt.of(value.intValue()))
            .orElse(OptionalInt.empty());
    return Optional.of(new End(code, false));
  }

  /**
   * Every signal is handled on a thread of its own, so reading and sending is one step: the last
   * size that is sent is the last that was read.
   */
  private synchronized void resize() {
    session
        .screen()
        .size()
        .ifPresent(size -> quietly(() -> channel.resize(size.columns(), size.rows())));
  }

  /** A first process gets no signal that it does not ask for: after some, the person leaves. */
  private void signal(String name) {
    quietly(() -> channel.signal(name));
    if (signals.incrementAndGet() == KILL_AFTER) {
      session.err().println("zlayer: the process ignores this signal; it keeps running");
      detach();
    }
  }

  private void detach() {
    detached.set(true);
    quietly(channel::leave);
    channel.close();
  }

  private interface Sending {
    void run() throws InterruptedException;
  }

  /** What cannot be sent any more was meant for a process that has gone. */
  private static void quietly(Sending sending) {
    try {
      sending.run();
    } catch (AgentException _) {
      // told by the thread that receives
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private final class Keys implements KeyboardLoop.Receiver {
    private final DetachKeys detachKeys = DetachKeys.parse(DetachKeys.USUAL);

    @Override
    public boolean keys(byte[] bytes, int length) {
      if (!terminal || !own) {
        quietly(() -> channel.input(bytes, length));
        return true;
      }
      DetachKeys.Passed passed = detachKeys.pass(bytes, length);
      if (passed.bytes().length > 0) {
        quietly(() -> channel.input(passed.bytes(), passed.bytes().length));
      }
      if (passed.detach()) {
        detach();
      }
      return !passed.detach();
    }

    @Override
    public void end() {
      quietly(channel::endInput);
    }
  }
}
