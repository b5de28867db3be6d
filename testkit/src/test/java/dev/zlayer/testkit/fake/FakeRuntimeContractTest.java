package dev.zlayer.testkit.fake;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.testkit.contract.RuntimeContract;
import dev.zlayer.testkit.contract.Workload;
import java.time.InstantSource;
import java.util.Map;

class FakeRuntimeContractTest extends RuntimeContract {
  private final FakeWorld world = new FakeWorld(InstantSource.system());

  @Override
  protected ContainerRuntime runtime() {
    world.images().add(image());
    return new FakeRuntime(world);
  }

  @Override
  protected ContainerRuntime restarted() {
    return new FakeRuntime(world);
  }

  @Override
  protected ImageRef image() {
    return ImageRef.parse("fake:v1");
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
