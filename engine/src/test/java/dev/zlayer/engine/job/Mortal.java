package dev.zlayer.engine.job;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.EventPage;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Images;
import dev.zlayer.task.Deadline;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.Supplier;

/**
 * What an agent sees of its store and its containers until it is killed. The kill comes at a random
 * call, before or after its effect, or after a given change; afterwards no call has any effect.
 */
public final class Mortal {
  /** Calls that only look at a container. */
  private static final Set<String> LOOKS =
      Set.of(
          "id",
          "spec",
          "status",
          "inspect",
          "await",
          "logs",
          "stats",
          "pid",
          "ip",
          "ports",
          "toString");

  /** Ends every thread that it meets, like a kill. */
  public static final class Killed extends Error {
    Killed() {
      super("killed", null, false, false);
    }
  }

  private final Random random;
  private double storeFaults;
  private final double before;
  private final boolean changesOnly;
  private int callsLeft;
  private boolean dead;

  Mortal(Random random, int calls, double storeFaults) {
    this(random, calls, storeFaults, 0.5, false);
  }

  private Mortal(Random random, int calls, double storeFaults, double before, boolean changesOnly) {
    this.random = random;
    this.callsLeft = calls;
    this.storeFaults = storeFaults;
    this.before = before;
    this.changesOnly = changesOnly;
  }

  /** Is killed when that many changes of records or containers were made, before it knows. */
  public static Mortal afterChange(int changes) {
    return new Mortal(new Random(0), changes, 0, 0, true);
  }

  /** Is not killed. */
  public static Mortal living(Random random) {
    return new Mortal(random, Integer.MAX_VALUE, 0, 0, true);
  }

  /** From now on the store refuses that share of all changes. */
  public synchronized void refuse(double share) {
    storeFaults = share;
  }

  /** Lets killed threads end without a word; returns what told of uncaught errors before. */
  public static Thread.UncaughtExceptionHandler silence() {
    var before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler(
        (_, thrown) -> {
          if (!(thrown instanceof Killed)) {
            thrown.printStackTrace();
          }
        });
    return before;
  }

  public synchronized boolean dead() {
    return dead;
  }

  private synchronized void requireAlive() {
    if (dead) {
      throw new Killed();
    }
  }

  /** Whether the kill comes with this call. */
  private synchronized boolean last(boolean change) {
    requireAlive();
    if (changesOnly && !change) {
      return false;
    }
    // a call that fails by itself hands its fate to the next one
    return --callsLeft <= 0;
  }

  private synchronized boolean chance(double probability) {
    return random.nextDouble() < probability;
  }

  private synchronized boolean refused() {
    return chance(storeFaults);
  }

  private synchronized void die() {
    dead = true;
    throw new Killed();
  }

  private <T> T look(Supplier<T> work) {
    return call(false, work);
  }

  private <T> T call(boolean change, Supplier<T> work) {
    boolean last = last(change);
    if (last && chance(before)) {
      die();
    }
    T result = work.get();
    if (last) {
      die();
    }
    requireAlive();
    return result;
  }

  public StateStore over(StateStore store) {
    return new StateStore() {
      @Override
      public Optional<byte[]> find(String kind, String key) {
        return look(() -> store.find(kind, key));
      }

      @Override
      public List<Entry> list(String kind, String prefix) {
        return look(() -> store.list(kind, prefix));
      }

      @Override
      public List<String> keys(String kind, String prefix) {
        return look(() -> store.keys(kind, prefix));
      }

      @Override
      public long commit(Change change) {
        if (refused()) {
          throw new AgentException.Configuration("no space is left, says the test");
        }
        return call(!change.isEmpty(), () -> store.commit(change));
      }

      @Override
      public EventPage events(long since, Optional<String> subject, int limit) {
        return look(() -> store.events(since, subject, limit));
      }

      @Override
      public boolean awaitEvent(long since, Deadline deadline) throws InterruptedException {
        return store.awaitEvent(since, deadline);
      }

      @Override
      public void close() {}
    };
  }

  public ContainerRuntime over(ContainerRuntime runtime) {
    return new ContainerRuntime() {
      @Override
      public String name() {
        return runtime.name();
      }

      @Override
      public Capabilities capabilities() {
        return runtime.capabilities();
      }

      @Override
      public Images images() {
        return runtime.images();
      }

      @Override
      public Container create(ContainerId id, ContainerSpec spec) {
        return over(
            call(
                true,
                () -> {
                  try {
                    return runtime.create(id, spec);
                  } catch (InterruptedException e) {
                    throw new AssertionError("the fake runtime does not wait here", e);
                  }
                }));
      }

      @Override
      public Optional<Container> find(ContainerId id) {
        return look(() -> runtime.find(id)).map(Mortal.this::over);
      }

      @Override
      public List<Container> list() {
        return look(runtime::list).stream().map(Mortal.this::over).toList();
      }
    };
  }

  private Container over(Container container) {
    return (Container)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {Container.class},
            (_, method, arguments) -> {
              boolean last = last(!LOOKS.contains(method.getName()));
              if (last && chance(before)) {
                die();
              }
              try {
                Object result = method.invoke(container, arguments);
                if (last) {
                  die();
                }
                requireAlive();
                return result;
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }
}
