package dev.zlayer.spec.placement;

import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Shorthand;
import dev.zlayer.spec.form.Tagged;
import dev.zlayer.spec.form.Text;

/** How replicas spread over nodes. */
@Doc("How replicas spread over nodes.")
@Tagged
public sealed interface Affinity {
  @Doc("Over as many nodes as there are.")
  record Spread() implements Affinity {}

  @Doc("Onto as few nodes as they fit.")
  record Pack() implements Affinity {}

  @Doc("Onto the nodes that fit the selector.")
  @Shorthand(value = "selector", as = "id=N or key=value")
  record Pin(
      @Doc("Which nodes: id=N or key=value.")
          @Text(pattern = "[^=\\s]+=.+", write = "id=N or key=value")
          String selector)
      implements Affinity {}
}
