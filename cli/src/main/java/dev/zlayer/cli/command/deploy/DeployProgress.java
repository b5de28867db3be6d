package dev.zlayer.cli.command.deploy;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.JsonLines;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.Watching;
import dev.zlayer.cli.print.DeployModel;
import dev.zlayer.cli.print.DeployView;
import dev.zlayer.cli.print.LiveScreen;
import dev.zlayer.cli.print.Style;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Follows a change of a deployment to its end: drawn over itself on a terminal, plain lines
 * elsewhere, as JSON lines on demand. ^C stops watching, not the change.
 */
final class DeployProgress {
  private static final Duration FRAME = Duration.ofMillis(100);

  private final Session session;
  private final Mode mode;
  private final DeployModel model = new DeployModel();
  private final AtomicBoolean left = new AtomicBoolean();
  private Deadline nextFrame = Deadline.after(Duration.ZERO);

  /** How much is said on the way. */
  enum Mode {
    PEOPLE,
    QUIET,
    JSON
  }

  DeployProgress(Session session, Mode mode) {
    this.session = session;
    this.mode = mode;
  }

  /** The result line; nothing when the person left before. */
  Optional<Json> follow(DaemonClient client, String method, String path, Query query, byte[] body)
      throws InterruptedException {
    try (var screen = new LiveScreen(session.err());
        JsonLines lines = client.stream(method, path, query, DaemonClient.YAML, body);
        var _ = session.screen().onSignal("INT", () -> leave(lines))) {
      return read(lines, screen);
    } catch (RuntimeException e) {
      if (left.get()) {
        return Optional.empty();
      }
      throw e;
    }
  }

  private void leave(JsonLines lines) {
    left.set(true);
    lines.close();
  }

  private Optional<Json> read(JsonLines lines, LiveScreen screen) throws InterruptedException {
    Json last = Json.Null.INSTANCE;
    for (Optional<Json> line = lines.next(); line.isPresent(); line = lines.next()) {
      last = line.get();
      if (mode == Mode.JSON) {
        session.out().println(JsonText.print(last));
        session.out().flush();
      } else if (mode == Mode.PEOPLE) {
        show(model.take(last), screen);
      }
      if (last.at("type").string().filter("result"::equals).isPresent()) {
        break;
      }
    }
    if (mode == Mode.PEOPLE && session.terminal()) {
      Watching.draw(session, screen, frame());
    }
    return left.get() ? Optional.empty() : Optional.of(last);
  }

  private void show(Optional<String> news, LiveScreen screen) {
    if (!session.terminal()) {
      news.ifPresent(session.err()::println);
    } else if (news.isPresent() || nextFrame.passed()) {
      nextFrame = Deadline.after(FRAME);
      Watching.draw(session, screen, frame());
    }
  }

  private List<String> frame() {
    return DeployView.lines(model, Style.of(session.colours()));
  }
}
