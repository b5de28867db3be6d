package dev.zlayer.runtime.wsl;

import dev.zlayer.container.Mount;
import dev.zlayer.error.AgentException;
import dev.zlayer.runtime.oci.Volumes;
import dev.zlayer.runtime.oci.config.BundleConfig;
import dev.zlayer.runtime.oci.config.BundleInput;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What is mounted into containers, by its names in the distribution. Named volumes are directories
 * of the distribution, since the drives of Windows keep neither owners nor modes.
 */
record WslVolumes(WslShell shell, WslDirectories places, WslPaths paths) {
  /**
   * Fills a volume with what the image has at a target, if all of the way there is directories. One
   * that exists may be mounted: its directory is never replaced.
   */
  private static final String FILL =
      """
      volume=$1 root=$2 target=$3
      if [ -d "$volume" ] && [ -n "$(ls -A "$volume")" ]; then exit 0; fi
      source=$root
      set -f
      IFS=/
      for part in $target; do
        if [ -n "$part" ] && [ -n "$source" ]; then
          source=$source/$part
          if [ -L "$source" ] || [ ! -d "$source" ]; then source=; fi
        fi
      done
      unset IFS
      if [ -d "$volume" ]; then
        if [ -n "$source" ] && [ -n "$(ls -A "$source")" ]; then cp -a -n -T "$source" "$volume"; fi
        exit 0
      fi
      rm -rf "$volume.new"
      mkdir -p "$volume.new"
      if [ -n "$source" ]; then cp -a -T "$source" "$volume.new"; fi
      mv -T "$volume.new" "$volume"
      """;

  /** Makes the volumes a container wants and tells what to mount; tmpfs is not among it. */
  List<BundleInput.Bind> prepare(
      WslDirectories.Container place, List<Mount> mounts, List<String> imageVolumes)
      throws IOException, InterruptedException {
    var binds = new ArrayList<BundleInput.Bind>();
    int anonymous = 0;
    for (Mount mount : Volumes.withImageVolumes(mounts, imageVolumes)) {
      String target = BundleConfig.mountTarget(mount.target());
      switch (mount) {
        case Mount.Bind(var source, _, var readOnly, var propagation) -> {
          refuse(propagation.isPresent(), "the propagation of mounts below " + source);
          binds.add(bind(existing(source), target, readOnly));
        }
        case Mount.Named(var name, _, var readOnly, var subpath) -> {
          refuse(subpath.isPresent(), "a part of volume " + name);
          binds.add(bind(filled(places.volume(name), place, target), target, readOnly));
        }
        case Mount.Anonymous _ ->
            binds.add(bind(filled(place.volume(anonymous++), place, target), target, false));
        case Mount.Supplied _ ->
            throw new AgentException.Unsupported(
                "%s from a bucket: files are not copied into WSL yet".formatted(target));
        case Mount.Tmpfs _ -> {}
      }
    }
    return binds;
  }

  private static void refuse(boolean wanted, String what) {
    if (wanted) {
      throw new AgentException.Unsupported(what + ": the wsl runtime mounts whole directories");
    }
  }

  private static BundleInput.Bind bind(String source, String target, boolean readOnly) {
    return new BundleInput.Bind(Path.of(source), target, readOnly);
  }

  private String filled(String volume, WslDirectories.Container place, String target)
      throws IOException, InterruptedException {
    shell.run(FILL, volume, place.root(), target);
    return volume;
  }

  private String existing(Path source) throws InterruptedException {
    String inside =
        source.startsWith(places.dirs().data())
            ? places.inside(source)
            : paths.toLinux(source.toString());
    if (!shell.distribution().test("-e", inside)) {
      throw new AgentException.InvalidSpec(
          "%s cannot be mounted: there is no %s in the WSL distribution '%s'"
              .formatted(source, inside, shell.distribution().name()));
    }
    return inside;
  }
}
