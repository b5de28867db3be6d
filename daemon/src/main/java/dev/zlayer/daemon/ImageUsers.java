package dev.zlayer.daemon;

import dev.zlayer.image.store.InUse;
import dev.zlayer.port.ContainerRuntime;
import java.util.List;

/** Which images the containers of all runtimes were made from, once these are open. */
final class ImageUsers implements InUse {
  private volatile List<InUse> users = List.of();

  void open(List<ContainerRuntime> runtimes) {
    users = runtimes.stream().filter(InUse.class::isInstance).map(InUse.class::cast).toList();
  }

  @Override
  public List<Use> uses() {
    return users.stream().flatMap(user -> user.uses().stream()).toList();
  }
}
