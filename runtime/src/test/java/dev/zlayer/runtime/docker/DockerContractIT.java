package dev.zlayer.runtime.docker;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ImageArchives;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.contract.RuntimeContract;
import dev.zlayer.testkit.docker.DockerEngine;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.ByteArrayInputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** Keeps every promise of a runtime, on containers of a real engine. */
@Requires({Fact.ROOT, Fact.DOCKERD, Fact.BUSYBOX, Fact.OVERLAYFS})
class DockerContractIT extends RuntimeContract {
  private static final ImageRef BUSYBOX = ImageRef.parse("localhost/busybox:test");
  private static DockerEngine engine;
  private static DockerRuntime runtime;

  @BeforeAll
  static void open() throws Exception {
    engine = DockerEngine.start();
    runtime = DockerRuntime.open(settings());
    byte[] archive = ImageMaker.busybox().cmd("sh").make().dockerArchive("localhost/busybox:test");
    ((ImageArchives) runtime.images()).load(new ByteArrayInputStream(archive));
  }

  @AfterAll
  static void close() {
    runtime.close();
    engine.close();
  }

  @Override
  protected ContainerRuntime runtime() {
    return runtime;
  }

  @Override
  protected ContainerRuntime restarted() {
    try {
      runtime.close();
      runtime = DockerRuntime.open(settings());
      return runtime;
    } catch (InterruptedException e) {
      throw new AgentException.Internal("cannot open the runtime anew", e);
    }
  }

  /** The engine keeps the streams open for whoever holds them. */
  @Override
  public boolean endsOutputWithCommands() {
    return false;
  }

  @Override
  protected ImageRef image() {
    return BUSYBOX;
  }

  private static DockerSettings settings() {
    return DockerSettings.of(engine.address(), "contract");
  }
}
