package dev.zlayer.daemon.docker;

import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Images in the words of Docker. */
final class ImageWire {
  private static final String NEVER = "0001-01-01T00:00:00Z";

  private ImageWire() {}

  /** In the listing of {@link #summary} for clients that do not expect an image without names. */
  static Json older(Json summary) {
    var members = new LinkedHashMap<>(summary.members());
    if (summary.at("RepoTags").items().isEmpty() && summary.at("RepoDigests").items().isEmpty()) {
      members.put("RepoTags", Json.of(List.of("<none>:<none>")));
      members.put("RepoDigests", Json.of(List.of("<none>@<none>")));
    }
    return new Json.Obj(members);
  }

  static Json summary(ImageDetails image, long containers) {
    ImageInfo info = image.info();
    List<String> tags = tags(info);
    return Json.object()
        .put("Id", image.config())
        .put("ParentId", "")
        .put("RepoTags", tags)
        .put("RepoDigests", digests(info))
        .put("Created", info.createdAt().map(Instant::getEpochSecond).orElse(0L))
        .put("Size", info.contentBytes())
        .put("VirtualSize", info.contentBytes())
        .put("SharedSize", -1)
        .put("Labels", image.run().labels())
        .put("Containers", containers)
        .build();
  }

  static List<String> tags(ImageInfo info) {
    return info.references().stream()
        .filter(reference -> reference.digest().isEmpty())
        .map(ImageRef::familiar)
        .toList();
  }

  static List<String> digests(ImageInfo info) {
    return info.references().stream()
        .map(reference -> bare(reference) + "@" + info.digest())
        .distinct()
        .toList();
  }

  /** The name without tag and digest, as people write it. */
  static String bare(ImageRef reference) {
    String familiar = reference.familiar();
    int at = familiar.indexOf('@');
    String name = at < 0 ? familiar : familiar.substring(0, at);
    int colon = name.lastIndexOf(':');
    return colon > name.lastIndexOf('/') ? name.substring(0, colon) : name;
  }

  /** {@code parent} is the id of another image, or empty. */
  static Json inspect(ImageDetails image, String parent) {
    ImageInfo info = image.info();
    Platform platform = info.platform().orElse(Platform.of("linux", DockerSystem.arch()));
    return Json.object()
        .put("Id", image.config())
        .put("RepoTags", tags(info))
        .put("RepoDigests", digests(info))
        .put("Parent", parent)
        .put("Comment", image.history().isEmpty() ? "" : image.history().getLast().comment())
        .put("Created", info.createdAt().map(Instant::toString).orElse(NEVER))
        .put("DockerVersion", "")
        .put("Author", image.author())
        .put("Config", config(image))
        .put("Architecture", platform.architecture())
        .putIf("Variant", platform.variant())
        .put("Os", platform.os())
        .put("Size", info.contentBytes())
        .put("VirtualSize", info.contentBytes())
        .put(
            "GraphDriver",
            Json.object().put("Data", Json.Null.INSTANCE).put("Name", "overlay2").build())
        .put(
            "RootFS",
            Json.object()
                .put("Type", "layers")
                .put(
                    "Layers",
                    image.layers().stream().flatMap(layer -> layer.diffId().stream()).toList())
                .build())
        .put("Metadata", Json.object().put("LastTagTime", NEVER).build())
        .put(
            "Descriptor",
            Json.object()
                .put("mediaType", "application/vnd.oci.image.manifest.v1+json")
                .put("digest", info.digest())
                .put("size", info.contentBytes())
                .build())
        .build();
  }

  static Json config(ImageDetails image) {
    ImageDetails.RunConfig run = image.run();
    return Json.object()
        .put("Hostname", "")
        .put("Domainname", "")
        .put("User", run.user().orElse(""))
        .put("AttachStdin", false)
        .put("AttachStdout", false)
        .put("AttachStderr", false)
        .put("ExposedPorts", set(run.exposedPorts()))
        .put("Tty", false)
        .put("OpenStdin", false)
        .put("StdinOnce", false)
        .put("Env", run.env())
        .put("Cmd", list(run.command()))
        .put("Image", "")
        .put("Volumes", set(run.volumes()))
        .put("WorkingDir", run.workdir().orElse(""))
        .put("Entrypoint", list(run.entrypoint()))
        .put("OnBuild", Json.Null.INSTANCE)
        .put("Labels", run.labels().isEmpty() ? Json.Null.INSTANCE : Json.of(run.labels()))
        .putIf("StopSignal", run.stopSignal())
        .putIf("Healthcheck", Optional.of(run.healthcheck()).filter(known -> !known.isNull()))
        .build();
  }

  private static Json list(List<String> words) {
    return words.isEmpty() ? Json.Null.INSTANCE : Json.of(words);
  }

  /** Names as the keys of an object without values, which is how Docker writes sets. */
  private static Json set(List<String> names) {
    if (names.isEmpty()) {
      return Json.Null.INSTANCE;
    }
    Map<String, Json> members = new LinkedHashMap<>();
    names.forEach(name -> members.put(name, Json.object().build()));
    return new Json.Obj(members);
  }

  /** The newest step first; layers belong to the steps that made some. */
  static Json history(ImageDetails image) {
    var steps = new ArrayList<Json>();
    int layer = 0;
    for (ImageDetails.HistoryEntry entry : image.history()) {
      long size = 0;
      if (!entry.emptyLayer() && layer < image.layers().size()) {
        size = image.layers().get(layer++).bytes();
      }
      steps.addFirst(
          step(
              entry.createdAt().map(Instant::getEpochSecond).orElse(0L),
              entry.createdBy(),
              size,
              entry.comment()));
    }
    for (; layer < image.layers().size(); layer++) {
      steps.addFirst(step(0, "", image.layers().get(layer).bytes(), ""));
    }
    if (!steps.isEmpty()) {
      var first = new LinkedHashMap<>(steps.getFirst().members());
      first.put("Id", Json.of(image.config().toString()));
      List<String> tags = tags(image.info());
      first.put("Tags", tags.isEmpty() ? Json.Null.INSTANCE : Json.of(tags));
      steps.set(0, new Json.Obj(first));
    }
    return Json.of(steps);
  }

  private static Json step(long created, String by, long size, String comment) {
    return Json.object()
        .put("Id", "<missing>")
        .put("Created", created)
        .put("CreatedBy", by)
        .put("Tags", Json.Null.INSTANCE)
        .put("Size", size)
        .put("Comment", comment)
        .build();
  }

  static Json removal(List<String> untagged, List<Digest> deleted) {
    var items = new ArrayList<Json>();
    untagged.forEach(name -> items.add(Json.object().put("Untagged", name).build()));
    deleted.forEach(id -> items.add(Json.object().put("Deleted", id).build()));
    return Json.of(items);
  }
}
