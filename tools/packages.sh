# Sourced by ./verify, ./quickstart and ./benchmark: names the Debian packages that are needed and installs those
# that are missing when root. Installing never starts a service: policy-rc.d denies it meanwhile,
# and a unit that a package brought and enabled is disabled again.

# program:package, the program is what tells whether the package is there
RUN_PACKAGES='runc:runc crun:crun conmon:conmon /usr/lib/cni/bridge:containernetworking-plugins
  catatonit:catatonit nft:nftables conntrack:conntrack'
TEST_PACKAGES='dockerd:docker.io docker-registry:docker-registry htpasswd:apache2-utils skopeo:skopeo umoci:umoci buildah:buildah
  busybox:busybox-static zsh:zsh fish:fish zstd:zstd openssl:openssl pebble:pebble haproxy:haproxy etcd:etcd-server etcdctl:etcd-client wg:wireguard-tools wireguard-go:wireguard-go tcpdump:tcpdump curl:curl wrk:wrk ip:iproute2 iptables:iptables nsenter:util-linux setfattr:attr setcap:libcap2-bin
  h2load:nghttp2-client /usr/lib/python3/dist-packages/grpc:python3-grpcio
  git:git ssh:openssh-client sshd:openssh-server newuidmap:uidmap pasta:passt
  chromium:chromium node:nodejs
  gcc:gcc /usr/include/errno.h:libc6-dev wat2wasm:wabt clang:clang wasm-ld:lld /usr/lib/wasm32-wasi/libc.a:wasi-libc
  /usr/lib/llvm-14/lib/clang/14.0.6/lib/wasi/libclang_rt.builtins-wasm32.a:libclang-rt-dev-wasm32'
# to make the bundle of tools/gpu-check
GPU_PACKAGES='patchelf:patchelf gcc:gcc /usr/include/errno.h:libc6-dev busybox:busybox-static ip:iproute2 xz:xz-utils'
VM_PACKAGES='qemu-system-x86_64:qemu-system-x86 mmdebstrap:mmdebstrap mke2fs:e2fsprogs'
BENCH_PACKAGES='containerd:containerd dockerd:docker.io podman:podman unshare:util-linux
  nginx:nginx-light caddy:caddy'

is_present() {
  case $1 in
    /*) [ -e "$1" ] ;;
    *) command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ] ;;
  esac
}

missing_packages() {
  for pair in $1; do
    is_present "${pair%%:*}" || printf '%s ' "${pair##*:}"
  done
}

# install_packages "LIST": installs, or names what is missing and fails
install_packages() {
  missing=$(missing_packages "$1")
  [ -z "$missing" ] && return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "packages are missing; as root: apt-get install --no-install-recommends $missing" >&2
    return 1
  fi
  echo "installing: $missing"
  policy=/usr/sbin/policy-rc.d
  made_policy=
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" && made_policy=1
  fi
  failed=0
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086 # a list of words
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } \
    >"${TMPDIR:-/tmp}/zlayer-apt.$$" 2>&1 || failed=1
  [ -n "$made_policy" ] && rm -f "$policy"
  if [ "$failed" = 1 ]; then
    tail -n 20 "${TMPDIR:-/tmp}/zlayer-apt.$$" >&2
    echo "installing failed; the packages are: $missing" >&2
  fi
  rm -f "${TMPDIR:-/tmp}/zlayer-apt.$$"
  # tests and measurements start their own; the machine's stay as they were: absent
  for service in docker-registry:docker-registry docker.io:docker.service docker.io:docker.socket openssh-server:ssh \
    containerd:containerd openssh-server:ssh.service openssh-server:ssh.socket haproxy:haproxy etcd-server:etcd nginx-light:nginx caddy:caddy; do
    case " $missing" in
      *" ${service%%:*} "*)
        if command -v systemctl >/dev/null 2>&1; then
          systemctl disable "${service##*:}" >/dev/null 2>&1 || true
        fi
        ;;
    esac
  done
  return "$failed"
}

# Compose 2 is not in this Debian: the package of a newer suite, pinned and only unpacked; the second one is that of a
# stable release, for the day on which the first has left the archive
COMPOSE_PACKAGES='docker-compose_2.40.3-3_amd64.deb:e7603d5e6df0f8404f7b03da478022b87d7b50644cffe68884b071e5cfc17fd3
  docker-compose_2.26.1-4_amd64.deb:47681197cb2b1ab88206b42a1a92fc75f50d9530a6322d03494a473eed0408ea'

# the same of etcd, to which a cluster is upgraded
ETCD_PACKAGES='etcd-server_3.5.16-4_amd64.deb:0875921bb0d023f2af9b8e15cdfbe417a03e65731345fb832c40f9c2dd72967b'

# fetch_program NAME DIRECTORY PATH PAIRS: makes ~/.cache/zlayer/NAME of a file in the first package that is to be had, or says
# that its tests are skipped
fetch_program() {
  program=$HOME/.cache/zlayer/$1
  [ -x "$program" ] && return 0
  helper=/usr/lib/apt/apt-helper
  unpacked=$program.$$
  mkdir -p "$unpacked"
  if [ -x "$helper" ] && [ "$(dpkg --print-architecture)" = amd64 ]; then
    # the mirror that this machine installs from
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep -m 1 '/debian/$') || mirror=
    for pair in $4; do
      if "$helper" download-file "${mirror}pool/main/$2/${pair%%:*}" "$unpacked/package.deb" \
        "SHA256:${pair##*:}" >/dev/null 2>&1 &&
        dpkg-deb -x "$unpacked/package.deb" "$unpacked/root"; then
        mv "$unpacked/root/$3" "$program"
        break
      fi
    done
  fi
  rm -rf "$unpacked"
  [ -x "$program" ] || echo "$1 could not be fetched: its tests are skipped" >&2
}

fetch_compose() {
  fetch_program docker-compose d/docker-compose usr/libexec/docker/cli-plugins/docker-compose "$COMPOSE_PACKAGES"
}

fetch_etcd() {
  fetch_program etcd-next e/etcd usr/bin/etcd "$ETCD_PACKAGES"
}
