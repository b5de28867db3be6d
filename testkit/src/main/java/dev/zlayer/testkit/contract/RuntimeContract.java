package dev.zlayer.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;

/**
 * The tests that make a class a {@link ContainerRuntime}. A subclass says how to open the runtime
 * and which image has a shell; one whose containers are not real overrides {@link #spec} and {@link
 * #realShell}. Every test makes containers of its own and takes them away.
 */
public abstract class RuntimeContract
    implements LifeTests,
        EndTests,
        AwaitTests,
        LogTests,
        ExecTests,
        AdoptionTests,
        PowerTests,
        ArchiveTests {
  private final String deployment = "contract-" + UUID.randomUUID();
  private final List<ContainerId> made = new ArrayList<>();
  private Optional<ContainerRuntime> current = Optional.empty();

  /** The runtime under test; called once per test. */
  protected abstract ContainerRuntime runtime();

  /**
   * Another runtime over the same state, as after a restart of the agent; the one before is not
   * used any more and may be closed.
   */
  protected abstract ContainerRuntime restarted();

  /** An image that is present and has a POSIX shell; busybox from the image maker will do. */
  protected abstract ImageRef image();

  /** How to run a script in {@link #image}. */
  protected String[] shell(String script) {
    return new String[] {"/bin/sh", "-c", script};
  }

  /** The network of containers that do not care; none is the fastest. */
  protected NetworkSpec network() {
    return NetworkSpec.NONE;
  }

  /** Whether scripts, execs and files are real; else the tests that need them are skipped. */
  @Override
  public boolean realShell() {
    return true;
  }

  @Override
  public ContainerSpec spec(Workload workload) {
    return ContainerSpec.of(image())
        .withProcess(ProcessSpec.DEFAULT.withEntrypoint(shell(workload.script())))
        .withNetwork(network());
  }

  /** A spec whose container can be made or not, but not started. */
  @Override
  public ContainerSpec unstartable() {
    return ContainerSpec.of(image())
        .withProcess(ProcessSpec.DEFAULT.withEntrypoint("/no/such/program"))
        .withNetwork(network());
  }

  @Override
  public final String[] shellCommand(String script) {
    return shell(script);
  }

  /** One runtime for all threads of a test: two over the same state would disturb each other. */
  @Override
  public final synchronized ContainerRuntime current() {
    if (current.isEmpty()) {
      current = Optional.of(runtime());
    }
    return current.get();
  }

  @Override
  public final synchronized ContainerRuntime restart() {
    ContainerRuntime _ = current();
    current = Optional.of(restarted());
    return current.get();
  }

  @Override
  public final synchronized ContainerId newId() {
    var id = ContainerId.of(deployment, "test", made.size() + 1);
    made.add(id);
    return id;
  }

  @Override
  public final Container create(ContainerSpec spec) throws InterruptedException {
    return current().create(newId(), spec);
  }

  @Override
  public final Container labelled(Workload workload, Map<String, String> labels)
      throws InterruptedException {
    ContainerSpec spec = spec(workload);
    var all = new java.util.LinkedHashMap<>(spec.labels());
    all.putAll(labels);
    return create(spec.withLabels(all));
  }

  /** Also after a failure: nothing of a test is left for the next one. */
  @AfterEach
  final void removeAll() throws InterruptedException {
    for (ContainerId id : made) {
      Optional<Container> left = current().find(id);
      if (left.isPresent()) {
        left.get().remove(true);
        assertThat(current().find(id)).isEmpty();
      }
    }
  }
}
