package dev.zlayer.engine.deployment;

import dev.zlayer.engine.service.ServiceStatus;
import dev.zlayer.engine.state.EventPage;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Reports to one waiting person what happens to a deployment, in order and on that person's thread.
 * Of what comes faster than it is read only events are all kept: of the statuses of a service that
 * is in the same state the newest is enough, and the progress of a pull may be left out.
 */
final class Reporter implements AutoCloseable {
  private static final int PAGE = 500;
  private static final int MOST = 1000;

  private final StateStore store;
  private final LiveDeployment deployment;
  private final Consumer<Progress> progress;

  /** Guarded by itself. */
  private final List<Progress> heard = new ArrayList<>();

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
    synchronized (heard) {
      int same = news instanceof Progress.Changed(var status) ? pending(status) : -1;
      if (same >= 0) {
        heard.set(same, news);
      } else if (heard.size() < MOST) {
        heard.add(news);
      }
    }
  }

  /** Where the last status of the same service is, if it was in the same state; -1 otherwise. */
  private int pending(ServiceStatus status) {
    for (int index = heard.size() - 1; index >= 0; index--) {
      if (heard.get(index) instanceof Progress.Changed(var before)
          && before.key().equals(status.key())) {
        return before.state() == status.state() ? index : -1;
      }
    }
    return -1;
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
    List<Progress> news;
    synchronized (heard) {
      news = List.copyOf(heard);
      heard.clear();
    }
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
