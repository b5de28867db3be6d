package dev.zlayer.cli.command.image;

import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.ImageRemoval;
import java.util.List;

/** Images as JSON; the names of the members are a promise. */
final class ImageJson {
  private ImageJson() {}

  static Json of(List<ImageInfo> images) {
    return Json.of(images.stream().map(info -> of(info).build()).toList());
  }

  static Json.Builder of(ImageInfo info) {
    return Json.object()
        .put("digest", info.digest())
        .put("references", info.references().stream().map(ImageRef::familiar).toList())
        .putIf("platform", info.platform())
        .put("kind", info.kind())
        .put("size", info.contentBytes())
        .putIf("created", info.createdAt());
  }

  static Json of(ImageDetails details) {
    ImageDetails.RunConfig run = details.run();
    return of(details.info())
        .put("config", details.config())
        .put("entrypoint", run.entrypoint())
        .put("command", run.command())
        .put("env", run.env())
        .putIf("workdir", run.workdir())
        .putIf("user", run.user())
        .put("exposed_ports", run.exposedPorts())
        .put("volumes", run.volumes())
        .put("labels", run.labels())
        .putIf("stop_signal", run.stopSignal())
        .put("annotations", details.annotations())
        .put("layers", details.layers().stream().map(ImageJson::of).toList())
        .build();
  }

  static Json of(ImageDetails.HistoryEntry entry) {
    return Json.object()
        .putIf("created", entry.createdAt())
        .put("created_by", entry.createdBy())
        .put("comment", entry.comment())
        .put("empty_layer", entry.emptyLayer())
        .build();
  }

  static Json of(ImageRemoval removal) {
    return Json.object()
        .put("untagged", removal.untagged())
        .put("deleted", removal.deleted())
        .put("reclaimed_bytes", removal.reclaimedBytes())
        .build();
  }

  private static Json of(ImageDetails.Layer layer) {
    return Json.object()
        .put("digest", layer.digest())
        .putIf("diff_id", layer.diffId())
        .put("size", layer.bytes())
        .put("media_type", layer.mediaType())
        .build();
  }
}
