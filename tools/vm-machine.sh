# Sourced by tools/vm and tools/vm-cluster with $root set: a root file system of Debian 12 with its own kernel, made once and kept
# in a cache, and an emulated machine that starts from it. Needs root, and a Debian mirror the first time.

cache=${ZLAYER_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/zlayer/vm}
suite=bookworm
# what every machine has; no Java
inside=systemd-sysv,udev,kmod,dbus,linux-image-cloud-amd64,nftables,runc,crun,conmon,apparmor,conntrack,catatonit
inside=$inside,containernetworking-plugins,golang-github-containers-common,busybox-static,iproute2,procps,libzstd1

fail() {
  echo "vm: $*" >&2
  exit 1
}

# use_image REVISION: names all that the image is made of, and makes it when it is not there; raise the number when what prepare or
# prepare_machine does changes
use_image() {
  key=$(printf '%s' "$1 $suite $inside" | sha256sum | cut -c1-16)
  image=$cache/$key.ext4
  mkdir -p "$cache"
  [ -e "$image" ] || make_image
}

# makes the image in a directory of its own and renames it when it is complete
make_image() {
  echo "vm: making the root file system (once; kept in $cache)"
  new=$cache/.new.$$
  trap 'rm -rf "$new"' EXIT
  mkdir -p "$new/root"
  if ! mmdebstrap --variant=minbase --include="$inside" --aptopt='APT::Install-Recommends "false"' \
    --aptopt='Acquire::Retries "3"' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' "$suite" "$new/root.tar" >"$new/log" 2>&1; then
    tail -n 20 "$new/log" >&2
    fail "the root file system could not be made: is a Debian mirror reachable?"
  fi
  tar -C "$new/root" -xf "$new/root.tar"
  prepare_machine "$new/root"
  prepare "$new/root"
  cp "$new"/root/boot/vmlinuz-* "$new/vmlinuz"
  cp "$new"/root/boot/initrd.img-* "$new/initrd"
  mke2fs -q -t ext4 -L root -d "$new/root" "$new/ext4" 1400M
  mv "$new/vmlinuz" "$cache/$key.vmlinuz"
  mv "$new/initrd" "$cache/$key.initrd"
  mv "$new/ext4" "$image"
  rm -rf "$new"
  trap - EXIT
}

# nothing asks for a login, nothing is done at its own time
prepare_machine() {
  mkdir -p "$1/payload"
  echo vm >"$1/etc/hostname"
  printf '127.0.0.1 localhost vm\n' >"$1/etc/hosts"
  printf '/dev/vda / ext4 rw 0 1\n/dev/vdb /payload ext4 ro 0 0\n' >"$1/etc/fstab"
  for unit in getty@.service serial-getty@.service apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer \
    dpkg-db-backup.timer fstrim.timer systemd-networkd-wait-online.service; do
    ln -sf /dev/null "$1/etc/systemd/system/$unit"
  done
}

# payload_disk DIRECTORY: its files on a disk of their own
payload_disk() {
  megabytes=$(($(du -sm "$1" | cut -f1) * 11 / 10 + 40))
  mke2fs -q -t ext4 -O ^has_journal -L payload -d "$1" "$1.ext4" "${megabytes}M" >/dev/null
}

# machine MEGABYTES DISK PAYLOAD WORDS ARGUMENTS...: from power on to off, or until $limit seconds have passed; WORDS are for the
# kernel's command line, $within are the words before the emulator. Called in the background: it replaces its shell.
# an old processor: what is built here has to run also where instructions of this machine are unknown; only one: with
# several the emulation lets a JVM die now and then in code that it has just compiled
machine() {
  megabytes=$1 disk=$2 payload=$3 words=$4
  shift 4
  # shellcheck disable=SC2086 # several words
  exec timeout -k 5 "$limit" ${within:-} qemu-system-x86_64 -accel tcg,thread=single -cpu Nehalem -smp 1 -m "$megabytes" -nodefaults \
    -no-reboot -display none -kernel "$cache/$key.vmlinuz" -initrd "$cache/$key.initrd" \
    -append "root=/dev/vda rw console=ttyS0 quiet panic=-1 systemd.show_status=0 mitigations=off $words" \
    -drive "file=$disk,if=virtio,format=raw" -drive "file=$payload,if=virtio,format=raw,readonly=on" "$@"
}
