package dev.zlayer.image;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.archive.ConfigChange;
import dev.zlayer.image.archive.LoadArchive;
import dev.zlayer.image.archive.NewImage;
import dev.zlayer.image.archive.SaveArchive;
import dev.zlayer.image.layer.LayerException;
import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.manifest.ImageConfig;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.image.manifest.Manifest;
import dev.zlayer.image.store.ImageRecord;
import dev.zlayer.image.store.IndexState;
import dev.zlayer.image.store.Leases;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageDetails.Layer;
import dev.zlayer.tar.TarException;
import dev.zlayer.task.BlockingPool;
import dev.zlayer.task.TaskScope;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PushbackInputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.ZipException;

/** Images from and to files. */
record ImageFiles(ImageLayout layout, ImagesConfig config) {
  /** An image of an archive, with the names that it has there. */
  record LoadedImage(ImageRecord image, List<ImageRef> names) {}

  List<LoadedImage> load(InputStream tar) throws InterruptedException {
    return loading(
        lease ->
            adoptAll(
                BlockingPool.STREAMS.call(
                    () -> new LoadArchive(layout.content(), lease).read(tar, config.platform())),
                lease));
  }

  private List<LoadedImage> adoptAll(List<LoadArchive.Loaded> images, Leases.Lease lease)
      throws IOException, InterruptedException {
    var result = new ArrayList<LoadedImage>();
    for (LoadArchive.Loaded image : images) {
      result.add(new LoadedImage(adopt(image.manifest(), image.names(), lease), image.names()));
    }
    return result;
  }

  /** Makes an image of content that is in the store. */
  private ImageRecord adopt(Descriptor manifest, List<ImageRef> names, Leases.Lease lease)
      throws IOException, InterruptedException {
    Manifest.Image image = layout.manifest(manifest.digest());
    requireBlob(image.config(), lease);
    for (Descriptor layer : image.layers()) {
      requireBlob(layer, lease);
    }
    Optional<ImageConfig> imageConfig = layout.config(image);
    unpack(ImageLayout.layers(image, imageConfig), lease);
    ImageRecord record =
        ImageLayout.record(manifest, image, imageConfig, config.clock().instant(), true);
    layout
        .index()
        .update(
            state -> {
              IndexState next = state.with(record);
              for (ImageRef name : names) {
                next = next.with(record, name, manifest.digest());
              }
              return next;
            });
    return record;
  }

  private void requireBlob(Descriptor blob, Leases.Lease lease) throws IOException {
    lease.add(blob.digest());
    if (!layout.content().has(blob.digest())) {
      throw new InvalidImageException("the archive lacks blob " + blob.digest());
    }
    long size = layout.content().size(blob.digest());
    if (size != blob.size()) {
      throw new InvalidImageException(
          "blob %s has %d bytes instead of %d".formatted(blob.digest(), size, blob.size()));
    }
  }

  private void unpack(List<Layer> layers, Leases.Lease lease) throws InterruptedException {
    try (var scope = new TaskScope("unpack", config.parallelLayers())) {
      for (Layer layer : layers.stream().distinct().toList()) {
        layer.diffId().ifPresent(lease::add);
        if (layer.diffId().isPresent() && !layout.layers().has(layer.diffId().get())) {
          scope.fork(
              () -> {
                try (InputStream blob = layout.content().read(layer.digest())) {
                  layout.layers().unpack(layer.diffId().get(), blob, _ -> {});
                }
                return true;
              });
        }
      }
      scope.join();
    }
  }

  ImageRecord importRoot(
      InputStream tar, Optional<ImageRef> as, List<ConfigChange> changes, Optional<String> comment)
      throws InterruptedException {
    return loading(
        lease -> {
          var archive = new PushbackInputStream(tar, ModuleFile.MAGIC.length);
          byte[] magic = archive.readNBytes(ModuleFile.MAGIC.length);
          archive.unread(magic);
          if (Arrays.equals(magic, ModuleFile.MAGIC)) {
            if (!changes.isEmpty()) {
              throw new AgentException.InvalidSpec(
                  "change '%s': a WebAssembly module has no configuration to change"
                      .formatted(changes.getFirst()));
            }
            Descriptor module =
                BlockingPool.STREAMS.call(
                    () -> NewImage.ofModule(layout.content(), lease, archive));
            return adopt(module, as.stream().toList(), lease);
          }
          Descriptor manifest =
              BlockingPool.STREAMS.call(
                  () ->
                      NewImage.ofRoot(
                          layout.content(),
                          lease,
                          archive,
                          config.platform(),
                          changes,
                          comment,
                          config.clock().instant(),
                          config.layerLimits().bytes()));
          return adopt(manifest, as.stream().toList(), lease);
        });
  }

  /** Makes an image of another one and a layer over it. */
  ImageRecord commit(
      ImageRecord base, NewImage.LayerWriter layer, NewImage.Commit commit, Optional<ImageRef> as)
      throws InterruptedException {
    return loading(
        lease -> {
          base.blobs().forEach(lease::add);
          Manifest.Image image = layout.manifest(base.manifest());
          Descriptor manifest =
              NewImage.over(
                  layout.content(), lease, image, layer, commit, config.clock().instant());
          return adopt(manifest, as.stream().toList(), lease);
        });
  }

  /** Brings content in under a lease, which holds all of it. */
  @FunctionalInterface
  private interface Loading<T> {
    T run(Leases.Lease lease) throws IOException, InterruptedException;
  }

  /** Whatever came in and no image refers to in the end is taken away again. */
  private <T> T loading(Loading<T> work) throws InterruptedException {
    Leases.Lease lease = layout.leases().open();
    try (lease) {
      return work.run(lease);
    } catch (IOException e) {
      throw unsound(e);
    } catch (TaskScope.TaskFailed e) {
      throw unsound(Failures.unwrapped(e));
    } finally {
      Failures.local(
          "tidy up after loading",
          layout.content().directory(),
          () -> layout.collector().collect(lease.held(), lease.held()));
    }
  }

  /** An archive that is not sound is the caller's to replace; a full disk is this node's. */
  private AgentException unsound(Throwable thrown) {
    Throwable told =
        thrown instanceof IOException e
            ? Failures.explained(e, layout.content().directory())
            : thrown;
    String text = "the archive cannot be loaded: " + told.getMessage();
    boolean theirs =
        told instanceof InvalidImageException
            || told instanceof EOFException // cut short, also because the client disconnected
            || told instanceof ZipException
            || told instanceof TarException
            || told instanceof LayerException;
    return theirs
        ? new AgentException.InvalidSpec(text, told)
        : new AgentException.Configuration(text, told);
  }

  void save(List<ImageRef> references, OutputStream to) {
    try (Leases.Lease lease = layout.leases().open()) {
      IndexState state = layout.index().state();
      Map<ImageRef, ImageRecord> images = new LinkedHashMap<>();
      for (ImageRef reference : references) {
        ImageRecord image =
            state
                .find(reference)
                .orElseThrow(
                    () ->
                        new AgentException.NotFound(
                            "image '" + reference + "'", "nothing of that name is here"));
        image.blobs().forEach(lease::add);
        images.put(reference, image);
      }
      Failures.local(
          "save images",
          layout.content().directory(),
          () -> {
            new SaveArchive(layout.content()).write(images, to);
            return true;
          });
    }
  }
}
