package dev.zlayer.engine.deployment;

import dev.zlayer.engine.state.EventPage;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;

/**
 * Tells one waiting person what happens to a deployment, in order and on that person's thread. What
 * comes faster than it is read is dropped, except for events.
 */
final class Reporter implements AutoCloseable {
  private static final int PAGE = 500;
  private static final int MOST = 1000;

  private final StateStore store;
  private final LiveDeployment deployment;
  private final Consumer<Progress> progress;
  private final BlockingQueue<Progress> heard = new LinkedBlockingQueue<>(MOST);
  private final Consumer<Progress> listener = this::hear;
  private long last;

  Reporter(StateStore store, LiveDeployment deployment, Consumer<Progress> progress) {
    this.store = store;
    this.deployment = deployment;
    this.progress = progress;
    this.last = deployment.eventsBefore();
    deployment.listen(listener);
  }

  private void hear(Progress news) {
    boolean _ = heard.offer(news);
  }

  /** Reads the store only when it has something new: services change more often than that. */
  void report() throws InterruptedException {
    while (store.awaitEvent(last, Deadline.after(Duration.ZERO))) {
      EventPage page = store.events(last, PAGE);
      last = page.last();
      page.events().stream()
          .filter(this::concerns)
          .forEach(event -> progress.accept(new Progress.Happened(event)));
    }
    List<Progress> news = new ArrayList<>();
    heard.drainTo(news);
    news.forEach(progress);
  }

  private boolean concerns(EventPage.Numbered event) {
    String name = deployment.record().name();
    String subject = event.event().subject();
    return subject.equals(name) || subject.startsWith(name + "/");
  }

  @Override
  public void close() {
    deployment.ignore(listener);
  }
}
