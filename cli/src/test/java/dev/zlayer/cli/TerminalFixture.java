package dev.zlayer.cli;

import dev.zlayer.host.linux.PseudoTerminal;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;

/** A person at a real terminal: a program whose own terminal it is, keys, and what they see. */
public final class TerminalFixture implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final PseudoTerminal terminal;
  private final Process process;
  private final StringBuffer screen = new StringBuffer();
  private final Thread watching = Thread.ofPlatform().daemon().unstarted(this::watch);

  private TerminalFixture(PseudoTerminal terminal, Process process) {
    this.terminal = terminal;
    this.process = process;
    watching.start();
  }

  public static TerminalFixture start(List<String> words, Map<String, String> env)
      throws IOException {
    PseudoTerminal terminal = PseudoTerminal.open();
    terminal.resize(33, 77);
    // whoever runs the tests in the background ignores ^C, and children would, too
    var controlled =
        new ArrayList<>(List.of("env", "--default-signal=INT", "setsid", "--ctty", "--wait"));
    controlled.addAll(List.of("sh", "-c", "stty sane; exec \"$@\"", "sh"));
    controlled.addAll(words);
    return new TerminalFixture(
        terminal, Processes.startOn(terminal.path(), Command.of(controlled).withEnv(env)));
  }

  private void watch() {
    var bytes = new byte[4096];
    try {
      for (int count = terminal.master().read(bytes);
          count > 0;
          count = terminal.master().read(bytes)) {
        screen.append(new String(bytes, 0, count, StandardCharsets.UTF_8));
      }
    } catch (IOException _) {
      // nobody has the terminal open any more
    }
  }

  public void type(String keys) throws IOException {
    byte[] bytes = keys.getBytes(StandardCharsets.UTF_8);
    terminal.master().write(bytes, 0, bytes.length);
  }

  public void resize(int rows, int columns) throws IOException {
    terminal.resize(rows, columns);
  }

  public void awaitText(String text) {
    Awaitility.await()
        .atMost(LIMIT)
        .failFast(() -> ended() && !screen.toString().contains(text))
        .alias("'" + text + "' on the screen")
        .until(() -> screen.toString().contains(text));
  }

  /** Waits until {@code text} is on the screen behind {@code before}. */
  public void awaitTextAfter(String before, String text) {
    awaitText(before);
    Awaitility.await()
        .atMost(LIMIT)
        .alias("'" + text + "' behind '" + before + "'")
        .until(() -> screen.indexOf(text, screen.indexOf(before)) >= 0);
  }

  /** Nothing more will be printed; what an ended process printed may still be on its way. */
  private boolean ended() {
    return !process.isAlive() && !watching.isAlive();
  }

  /** When it has ended and everything that it printed is on the screen. */
  public int exitCode() throws InterruptedException {
    if (!process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS) || !watching.join(LIMIT)) {
      throw new AssertionError("it does not end; the screen says: " + screen);
    }
    return process.exitValue();
  }

  public String screen() {
    return screen.toString();
  }

  @Override
  public void close() {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
    terminal.close();
  }
}
