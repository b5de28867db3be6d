package dev.zlayer.port;

import dev.zlayer.container.Resources;
import java.util.List;

/** A container whose limits can be changed while it runs. */
public interface Updatable {
  /**
   * Applies limits now and keeps them for later starts. Returns warnings about what took effect
   * only partly; what cannot be applied at all throws and changes nothing.
   */
  List<String> update(Resources resources) throws InterruptedException;
}
