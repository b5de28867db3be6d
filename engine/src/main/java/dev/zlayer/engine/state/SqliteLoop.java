package dev.zlayer.engine.state;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Reply;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Owns the database: one platform thread (native code would pin a virtual one) takes requests in
 * order. Commits that wait at the same time become one transaction, so their number per second does
 * not depend on the disk alone.
 */
final class SqliteLoop implements AutoCloseable {
  private static final int LARGEST_BATCH = 512;

  /** A question to the tables. */
  @FunctionalInterface
  interface Question<T> {
    T ask(SqliteTables tables) throws java.sql.SQLException;
  }

  private sealed interface Request {
    void fail(RuntimeException failure);
  }

  private record Commit(Change change, Reply<Long> reply) implements Request {
    @Override
    public void fail(RuntimeException failure) {
      reply.fail(failure);
    }
  }

  private record Read<T>(Question<T> question, Reply<T> reply) implements Request {
    void answer(SqliteTables tables) {
      try {
        reply.complete(question.ask(tables));
      } catch (java.sql.SQLException e) {
        reply.fail(tables.translate(e));
      }
    }

    @Override
    public void fail(RuntimeException failure) {
      reply.fail(failure);
    }
  }

  private record Stop(Reply<Boolean> reply) implements Request {
    @Override
    public void fail(RuntimeException failure) {
      reply.complete(true);
    }
  }

  private final SqliteTables tables;
  private final EventBell bell;
  private final BlockingQueue<Request> requests = new LinkedBlockingQueue<>();
  private volatile boolean closed;

  SqliteLoop(SqliteTables tables, EventBell bell) {
    this.tables = tables;
    this.bell = bell;
    Thread.ofPlatform().name("state-store").daemon().start(this::run);
  }

  long commit(Change change) {
    var reply = new Reply<Long>();
    send(new Commit(change, reply));
    return reply.awaitUninterruptibly();
  }

  <T> T read(Question<T> question) {
    var reply = new Reply<T>();
    send(new Read<>(question, reply));
    return reply.awaitUninterruptibly();
  }

  /** Finishes what was sent before. */
  @Override
  public void close() {
    var reply = new Reply<Boolean>();
    send(new Stop(reply));
    boolean _ = reply.awaitUninterruptibly();
  }

  private void send(Request request) {
    requests.add(request);
    if (closed) {
      refuseAll();
    }
  }

  private void run() {
    try {
      boolean open = true;
      while (open) {
        open = serve(takeBatch());
      }
    } catch (InterruptedException _) {
      // nobody interrupts this thread; if somebody does, it ends as if closed
    } catch (RuntimeException e) {
      requests.forEach(request -> request.fail(e));
    } finally {
      closed = true;
      tables.close();
      refuseAll();
    }
  }

  private List<Request> takeBatch() throws InterruptedException {
    var batch = new ArrayList<Request>();
    batch.add(requests.take());
    requests.drainTo(batch, LARGEST_BATCH - 1);
    return batch;
  }

  /** Keeps the order of requests; commits in a row become one. */
  private boolean serve(List<Request> batch) {
    var commits = new ArrayList<Commit>();
    for (int i = 0; i < batch.size(); i++) {
      switch (batch.get(i)) {
        case Commit commit -> commits.add(commit);
        case Read<?> read -> {
          commitAll(commits);
          read.answer(tables);
        }
        case Stop stop -> {
          commitAll(commits);
          closed = true;
          tables.close();
          stop.reply().complete(true);
          batch.subList(i + 1, batch.size()).forEach(SqliteLoop::refuse);
          return false;
        }
      }
    }
    commitAll(commits);
    return true;
  }

  private void commitAll(List<Commit> commits) {
    if (commits.isEmpty()) {
      return;
    }
    try {
      List<Long> last = tables.commit(commits.stream().map(Commit::change).toList());
      bell.ring(last.getLast());
      for (int i = 0; i < commits.size(); i++) {
        commits.get(i).reply().complete(last.get(i));
      }
    } catch (AgentException e) {
      commits.forEach(commit -> commit.fail(e));
    }
    commits.clear();
  }

  private void refuseAll() {
    var left = new ArrayList<Request>();
    requests.drainTo(left);
    left.forEach(SqliteLoop::refuse);
  }

  private static void refuse(Request request) {
    request.fail(new AgentException.Internal("the state store is closed"));
  }
}
