package dev.zlayer.runtime.wsl;

import dev.zlayer.runtime.oci.config.UserFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/** The root file systems of containers, mounted in the distribution by its own commands. */
record WslRoots(WslShell shell, WslDirectories places) {
  /**
   * The layers are named by a file, since a stopped distribution forgets its mounts. A link of the
   * image where the kernel's file systems are mounted would be followed out of the root.
   */
  private static final String MOUNT =
      """
      place=$1 layers=$2
      mkdir -p "$place/upper" "$place/work" "$place/root" "$place/shm" "$place/bundle" "$place/etc"
      if [ $# -gt 2 ]; then printf '%s' "$3" >"$place/lower"; fi
      cd "$layers"
      mountpoint -q "$place/root" || LIBMOUNT_FORCE_MOUNT2=always mount -t overlay \
        -o "lowerdir=$(cat "$place/lower"),upperdir=$place/upper,workdir=$place/work" \
        zlayer "$place/root"
      for kernel in dev proc sys; do
        if [ -L "$place/root/$kernel" ] || [ ! -d "$place/root/$kernel" ]; then
          rm -f "$place/root/$kernel" && mkdir "$place/root/$kernel"
        fi
      done
      mountpoint -q "$place/shm" || mount -t tmpfs -o mode=1777,size=64m shm "$place/shm"
      """;

  /** An image may have links in place of these files, which would be followed out of its root. */
  private static final String LOOK =
      """
      root=$1
      for file in passwd group; do
        if [ ! -L "$root/etc" ] && [ ! -L "$root/etc/$file" ] && [ -f "$root/etc/$file" ]; then
          head -c 16777216 "$root/etc/$file" | base64 -w 0
        fi
        echo
      done
      if [ -r /etc/resolv.conf ]; then base64 -w 0 /etc/resolv.conf; fi
      echo
      """;

  /** Overlayfs wants one below, however little the image has. */
  private static final String NOTHING = "none";

  /** What the files in a root, and those of the distribution, say. */
  record Inside(UserFiles users, String resolvConf) {}

  /** Mounts one of these layers, lowest first. */
  void mount(WslDirectories.Container place, List<String> layers)
      throws IOException, InterruptedException {
    var lower = new ArrayList<>(layers.reversed());
    if (lower.isEmpty()) {
      shell.run("mkdir -p \"$1\"", places.layers() + "/" + NOTHING);
      lower.add(NOTHING);
    }
    shell.run(MOUNT, place.path(), places.layers(), String.join(":", lower));
  }

  /** Mounts it again if it is not, for example because the distribution was stopped. */
  void mount(WslDirectories.Container place) throws IOException, InterruptedException {
    shell.run(MOUNT, place.path(), places.layers());
  }

  Inside look(WslDirectories.Container place) throws IOException, InterruptedException {
    List<String> lines = shell.lines(LOOK, place.root());
    return new Inside(new UserFiles(text(lines.get(0)), text(lines.get(1))), text(lines.get(2)));
  }

  private static String text(String encoded) {
    return new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
  }
}
