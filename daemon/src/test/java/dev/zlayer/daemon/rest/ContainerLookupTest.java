package dev.zlayer.daemon.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Images;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.Renamable;
import dev.zlayer.testkit.FakeClock;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A reference finds its container without inspecting any. */
class ContainerLookupTest {
  private static final ImageRef IMAGE = ImageRef.parse("app:1");

  private final AtomicInteger inspections = new AtomicInteger();
  private final ContainerRuntime fake = new FakeRuntime(new FakeWorld(new FakeClock()));
  private final ContainerLookup lookup = new ContainerLookup(new Counting());

  @BeforeEach
  void makeContainers() throws Exception {
    fake.images().pull(PullRequest.of(IMAGE, PullPolicy.IF_NOT_PRESENT), _ -> {});
    for (int number = 0; number < 20; number++) {
      make(ContainerId.of(ContainerId.STANDALONE, "one" + number, 1));
      make(ContainerId.of("shop", "web", number + 1));
    }
  }

  private Container make(ContainerId id) throws InterruptedException {
    return fake.create(id, ContainerSpec.of(IMAGE));
  }

  @AfterEach
  void nothingWasInspected() {
    assertThat(inspections).hasValue(0);
  }

  private ContainerId found(String reference) {
    return lookup.find(reference).id();
  }

  @Test
  void byEveryKindOfReference() {
    ContainerId web = ContainerId.of("shop", "web", 7);

    assertThat(found("one3")).isEqualTo(ContainerId.of(ContainerId.STANDALONE, "one3", 1));
    assertThat(found("shop/web/7")).isEqualTo(web);
    assertThat(found("shop:web:7")).isEqualTo(web);
    assertThat(found(web.runtimeName())).isEqualTo(web);
    assertThat(found(web.runtimeName().substring(0, 10))).isEqualTo(web);
    assertThatThrownBy(() -> found("shop/web")).isInstanceOf(AgentException.InvalidSpec.class);
    assertThatThrownBy(() -> found("other")).isInstanceOf(AgentException.NotFound.class);
    assertThatThrownBy(() -> found(" ")).isInstanceOf(AgentException.NotFound.class);
  }

  @Test
  void theNewestContainerOfAReplicaIsMeantWhileTheOneBeforeStops() throws Exception {
    ContainerId first = ContainerId.of("shop", "db", 1).withGeneration(1);
    make(first);
    ContainerId second = make(first.withGeneration(2)).id();

    assertThat(found("shop/db/1")).isEqualTo(second);
    assertThat(found("shop/db")).isEqualTo(second);
    assertThat(found("shop/db/1@1")).isEqualTo(first);
  }

  @Test
  void byTheNameItWasGivenLaterAndNotByTheFirst() throws Exception {
    ContainerId renamed = ContainerId.of(ContainerId.STANDALONE, "one3", 1);
    ((Renamable) fake.find(renamed).orElseThrow()).rename("other");

    assertThat(found("other")).isEqualTo(renamed);
    assertThatThrownBy(() -> found("one3")).isInstanceOf(AgentException.NotFound.class);

    Container second = make(renamed.withGeneration(1));
    assertThat(found("one3")).isEqualTo(second.id());
  }

  /** Hands out handles that count. */
  private final class Counting implements ContainerRuntime {
    @Override
    public String name() {
      return fake.name();
    }

    @Override
    public Capabilities capabilities() {
      return fake.capabilities();
    }

    @Override
    public Images images() {
      return fake.images();
    }

    @Override
    public Container create(ContainerId id, ContainerSpec spec) throws InterruptedException {
      return counted(fake.create(id, spec));
    }

    @Override
    public Optional<Container> find(ContainerId id) {
      return fake.find(id).map(this::counted);
    }

    @Override
    public List<Container> list() {
      return fake.list().stream().map(this::counted).toList();
    }

    private Container counted(Container container) {
      return (Container)
          Proxy.newProxyInstance(
              Container.class.getClassLoader(),
              new Class<?>[] {Container.class},
              (_, method, arguments) -> {
                if (method.getName().equals("inspect")) {
                  inspections.incrementAndGet();
                }
                try {
                  return method.invoke(container, arguments);
                } catch (InvocationTargetException e) {
                  throw e.getCause();
                }
              });
    }
  }
}
