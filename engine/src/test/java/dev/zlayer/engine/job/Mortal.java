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
import java.util.function.Supplier;

/**
 * What an agent sees of its store and its containers until it is killed. The kill comes at a random
 * call, before or after its effect; afterwards no call has any effect.
 */
final class Mortal {
  /** Ends every thread that it meets, like a kill. */
  static final class Killed extends Error {
    Killed() {
      super("killed", null, false, false);
    }
  }

  private final Random random;
  private final double storeFaults;
  private int callsLeft;
  private boolean dead;

  Mortal(Random random, int calls, double storeFaults) {
    this.random = random;
    this.callsLeft = calls;
    this.storeFaults = storeFaults;
  }

  synchronized boolean dead() {
    return dead;
  }

  private synchronized void requireAlive() {
    if (dead) {
      throw new Killed();
    }
  }

  /** Whether the kill comes with this call. */
  private synchronized boolean last() {
    requireAlive();
    // a call that fails by itself hands its fate to the next one
    return --callsLeft <= 0;
  }

  private synchronized boolean chance(double probability) {
    return random.nextDouble() < probability;
  }

  private synchronized void die() {
    dead = true;
    throw new Killed();
  }

  private <T> T call(Supplier<T> work) {
    boolean last = last();
    if (last && chance(0.5)) {
      die();
    }
    T result = work.get();
    if (last) {
      die();
    }
    requireAlive();
    return result;
  }

  StateStore over(StateStore store) {
    return new StateStore() {
      @Override
      public Optional<byte[]> find(String kind, String key) {
        return call(() -> store.find(kind, key));
      }

      @Override
      public List<Entry> list(String kind) {
        return call(() -> store.list(kind));
      }

      @Override
      public long commit(Change change) {
        if (chance(storeFaults)) {
          throw new AgentException.Configuration("no space is left, says the test");
        }
        return call(() -> store.commit(change));
      }

      @Override
      public EventPage events(long since, Optional<String> subject, int limit) {
        return call(() -> store.events(since, subject, limit));
      }

      @Override
      public boolean awaitEvent(long since, Deadline deadline) throws InterruptedException {
        return store.awaitEvent(since, deadline);
      }

      @Override
      public void close() {}
    };
  }

  ContainerRuntime over(ContainerRuntime runtime) {
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
        return call(() -> runtime.find(id)).map(Mortal.this::over);
      }

      @Override
      public List<Container> list() {
        return call(runtime::list).stream().map(Mortal.this::over).toList();
      }
    };
  }

  private Container over(Container container) {
    return (Container)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {Container.class},
            (_, method, arguments) -> {
              boolean last = last();
              if (last && chance(0.5)) {
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
