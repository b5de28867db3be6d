package dev.zlayer.daemon.cluster;

import dev.zlayer.task.Owner;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;

/** The threads with states by which a node takes part in its cluster. */
final class NodeOwners implements AutoCloseable {
  private final TimeSource clock = TimeSource.of(InstantSource.system());
  private final Supervisor supervisor;
  private final List<Owner<?>> owners = new CopyOnWriteArrayList<>();
  private final List<Supplier<Optional<String>>> problems = new CopyOnWriteArrayList<>();

  NodeOwners(Supervisor supervisor) {
    this.supervisor = supervisor;
  }

  /** Starts one that has nothing to complain about. */
  <S extends Owner.State> Owner<S> start(String name, Supplier<S> state)
      throws InterruptedException {
    Owner<S> started = Owner.<S>of(name, clock, supervisor, (_, _) -> state.get()).start();
    owners.add(started);
    return started;
  }

  /**
   * Starts one.
   *
   * @param problem why it does not do at the moment what it is there for
   */
  <S extends Owner.State> void start(
      String name, Supplier<S> state, Owner.Question<S, Optional<String>> problem)
      throws InterruptedException {
    Owner<S> started = start(name, state);
    problems.add(() -> started.ask(problem));
  }

  /** The first problem that one of them has. */
  Optional<String> problem() {
    return problems.stream().flatMap(one -> one.get().stream()).findFirst();
  }

  /** They decide and apply nothing any more, the last one that was started first. */
  @Override
  public void close() {
    List.copyOf(owners).reversed().forEach(Owner::close);
  }
}
