package dev.zlayer.engine.translate;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.storage.StorageSpec;
import dev.zlayer.spec.value.SecretRef;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A bucket whose copy a container mounts. It is written on the container itself, so that whoever
 * finds the container, after a restart of the agent or a change of the file, knows what to push.
 *
 * @param storage where the file says so, such as {@code storage[0]}
 * @param prefix empty, or ends in a slash
 * @param credentials names the secret, as the file does; never holds a key
 */
public record BucketMount(
    String storage,
    String bucket,
    String prefix,
    String target,
    boolean readOnly,
    Optional<String> endpoint,
    Optional<String> region,
    Optional<String> credentials) {
  private static final String LABEL = "com.zlayer.buckets";
  static final StoredFormat FORMAT = StoredFormat.of("the label about buckets");

  static List<BucketMount> of(ServiceSpec service) {
    var mounts = new ArrayList<BucketMount>();
    for (int i = 0; i < service.storage().size(); i++) {
      if (service.storage().get(i) instanceof StorageSpec.S3 wanted) {
        mounts.add(
            new BucketMount(
                "storage[%d]".formatted(i),
                wanted.bucket(),
                directory(wanted.prefix().orElse("")),
                wanted.target(),
                wanted.readonly(),
                wanted.endpoint(),
                wanted.region(),
                wanted.credentials().map(SecretRef::toString)));
      }
    }
    return mounts;
  }

  static Map<String, String> labels(List<BucketMount> mounts) {
    return mounts.isEmpty() ? Map.of() : Map.of(LABEL, JsonText.print(RecordJson.write(mounts)));
  }

  /** Those of a container. */
  public static List<BucketMount> of(ContainerSpec container) {
    String label = container.labels().get(LABEL);
    if (label == null) {
      return List.of();
    }
    // the first version is the list alone; later ones are objects
    Json json = JsonText.parse(label);
    List<Json> written =
        json instanceof Json.Arr ? json.items() : FORMAT.upgrade(json, LABEL).at("buckets").items();
    return written.stream().map(one -> RecordJson.read(one, BucketMount.class)).toList();
  }

  private static String directory(String prefix) {
    return prefix.isEmpty() || prefix.endsWith("/") ? prefix : prefix + "/";
  }
}
