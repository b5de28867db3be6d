package dev.zlayer.runtime.composite;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.testkit.contract.RuntimeContract;
import dev.zlayer.testkit.contract.Workload;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A composite of fakes is a runtime like any other; containers land on the second of two. */
class CompositeContractTest extends RuntimeContract {
  @TempDir Path records;
  private TwoRuntimes node;

  @BeforeEach
  void makeNode() {
    node = new TwoRuntimes(records);
    node.bothHave(image(), TwoRuntimes.LINUX);
  }

  @Override
  protected ContainerRuntime runtime() {
    return node.open();
  }

  @Override
  protected ContainerRuntime restarted() {
    return node.open();
  }

  @Override
  protected ImageRef image() {
    return TwoRuntimes.APP;
  }

  @Override
  public boolean realShell() {
    return false;
  }

  @Override
  public ContainerSpec spec(Workload workload) {
    return ContainerSpec.of(image()).withLabels(workload.labels());
  }

  @Override
  public ContainerSpec unstartable() {
    return ContainerSpec.of(image()).withLabels(Map.of("fake.fail", "start"));
  }
}
