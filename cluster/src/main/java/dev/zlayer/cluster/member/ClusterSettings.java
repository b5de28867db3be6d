package dev.zlayer.cluster.member;

import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;

/**
 * What was decided when the cluster began, for all its nodes.
 *
 * @param id of the cluster
 * @param encrypt whether packets between containers of different nodes are encrypted
 */
public record ClusterSettings(String id, boolean encrypt) {
  String text() {
    return JsonText.print(RecordJson.write(this));
  }

  public static ClusterSettings parse(String text) {
    return RecordJson.read(JsonText.parse(text), ClusterSettings.class);
  }
}
