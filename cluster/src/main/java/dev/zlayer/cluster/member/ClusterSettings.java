package dev.zlayer.cluster.member;

import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import java.util.Optional;

/**
 * What was decided when the cluster began, for all its nodes.
 *
 * @param id of the cluster
 * @param encrypt whether packets between containers of different nodes are encrypted
 * @param users whether etcd knows nodes as users; absent where an earlier agent began the cluster
 */
public record ClusterSettings(String id, boolean encrypt, Optional<Boolean> users) {
  ClusterSettings(String id, boolean encrypt) {
    this(id, encrypt, Optional.empty());
  }

  boolean hasUsers() {
    return users.orElse(false);
  }

  String text() {
    return JsonText.print(RecordJson.write(this));
  }

  public static ClusterSettings parse(String text) {
    return RecordJson.read(JsonText.parse(text), ClusterSettings.class);
  }
}
