package dev.zlayer.daemon;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageDetails;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;

/** Records what happens to images, volumes and networks, as events among all others. */
public record ResourceEvents(StateStore store, InstantSource clock) {
  /**
   * Records one.
   *
   * @param type {@code image}, {@code volume} or {@code network}
   */
  public void record(String type, String action, String id, Map<String, String> attributes) {
    Json detail = Json.object().put("attributes", attributes).build();
    store.commit(Change.of(new Event(clock.instant(), type + "." + action, id, detail)));
  }

  /** Records what happened to a network, by its name. */
  public void network(String action, String name, Map<String, String> more) {
    var attributes = new LinkedHashMap<String, String>();
    attributes.put("name", name);
    attributes.put("type", "bridge");
    attributes.putAll(more);
    record("network", action, name, attributes);
  }

  public void image(String action, ImageDetails image, ImageRef name) {
    var attributes = new LinkedHashMap<String, String>(image.run().labels());
    attributes.put("name", name.familiar());
    boolean byName = action.equals("pull") || action.equals("push");
    record("image", action, byName ? name.familiar() : image.config().toString(), attributes);
  }
}
