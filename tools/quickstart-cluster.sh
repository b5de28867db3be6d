# Part of ./quickstart: three nodes in network namespaces of this machine, which a bridge in one more connects.
# Sourced with $root and $home set. Nothing of the machine's own network is changed.

NODES='1 2 3'
SWITCH=zlquick0

# zlayer against one of the nodes; the socket is found by its data directory
node() {
  number=$1
  shift
  env ZLAYER_DATA_DIR="$home/node$number/data" ZLAYER_CONFIG_DIR="$home/node$number/etc" \
    ZLAYER_NETWORK_PREFIX="zlq${number}n" ZLAYER_NETWORK_POOL=1 "$root/dist/bin/zlayer" "$@"
}
node_step() {
  printf '\nnode %s$ zlayer' "$1"
  (shift && printf ' %s' "$@")
  echo
  node "$@"
}
agent_start() {
  mkdir -p "$home/node$1/etc"
  env ZLAYER_DATA_DIR="$home/node$1/data" ZLAYER_CONFIG_DIR="$home/node$1/etc" \
    ZLAYER_NETWORK_PREFIX="zlq${1}n" ZLAYER_NETWORK_POOL=1 \
    nsenter --net="/run/netns/zlquick$1" "$root/dist/bin/zlayer" daemon start --quiet
}

# what runs on a node: agent, etcd and monitors share its network, containers are children of monitors
node_pids() {
  for pid in $(ip netns pids "zlquick$1" 2>/dev/null); do
    echo "$pid"
    cat "/proc/$pid/task/$pid/children" 2>/dev/null || true
  done
}
node_kill() {
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    pids=$(node_pids "$1")
    [ -n "$pids" ] || return 0
    # shellcheck disable=SC2086 # several numbers
    kill -9 $pids 2>/dev/null || true
    sleep 0.2
  done
  echo "processes of node $1 do not end: $pids" >&2
  return 1
}

cluster_clean() {
  for number in $NODES; do
    [ -e "/run/netns/zlquick$number" ] || continue
    if [ -x "$root/dist/bin/zlayer" ] && [ -d "$home/node$number/data" ]; then
      agent_start "$number" >/dev/null 2>&1 || true
      node "$number" cluster leave --force >/dev/null 2>&1 || true
      node "$number" down cluster --wait 20s >/dev/null 2>&1 || true
      for id in $(node "$number" ps --all --quiet 2>/dev/null || true); do
        node "$number" rm -f -q "$id" 2>/dev/null || true
      done
      node "$number" daemon stop --quiet 2>/dev/null || true
    fi
    node_kill "$number" || true
    ip netns del "zlquick$number"
  done
  [ ! -e "/run/netns/$SWITCH" ] || ip netns del "$SWITCH"
}

cluster_machines() {
  ip netns add "$SWITCH"
  ip -n "$SWITCH" link add switch type bridge
  ip -n "$SWITCH" link set switch up
  for number in $NODES; do
    ip netns add "zlquick$number"
    ip -n "zlquick$number" link set lo up
    ip -n "$SWITCH" link add "port$number" type veth peer eth0 netns "zlquick$number"
    ip -n "$SWITCH" link set "port$number" master switch up
    ip -n "zlquick$number" addr add "192.0.2.$number/24" dev eth0
    ip -n "zlquick$number" link set eth0 up
    agent_start "$number"
    node "$number" image import "$1" busybox:1.36 >/dev/null
  done
}

# replicas that run on other nodes than the third one
moved() {
  node 1 ps cluster 2>/dev/null | awk '/cluster\/web\// && !/ three / { count++ } END { print count + 0 }'
}

# $1 is the root file system of an image
cluster_run() {
  echo "three machines: network namespaces with the addresses 192.0.2.1 to 192.0.2.3"
  cluster_machines "$1"
  joining=$(node_step 1 cluster init --name one --advertise 192.0.2.1)
  echo "$joining"
  token=$(echo "$joining" | grep -o 'zljoin-[^ ]*' | head -n 1)
  node_step 2 cluster join 192.0.2.1 --token "$token" --name two --advertise 192.0.2.2
  token=$(node 1 cluster token | grep -o 'zljoin-[^ ]*' | head -n 1)
  node_step 3 cluster join 192.0.2.1 --token "$token" --name three --advertise 192.0.2.3
  node_step 2 up examples/cluster.zlayer.yml --wait 120s
  node_step 1 ps cluster
  node_step 1 node ls

  printf '\n%s\n' "node three fails: its agent, its etcd and its containers are killed"
  node_kill 3
  began=$(date +%s)
  while [ "$(moved)" -lt 3 ]; do
    [ $(($(date +%s) - began)) -lt 90 ] || {
      echo "its replica was not started elsewhere within 90 seconds" >&2
      node 1 status cluster >&2 || true
      return 1
    }
    sleep 0.5
  done
  echo "its replica runs elsewhere after $(($(date +%s) - began)) seconds"
  node_step 1 ps cluster
  node_step 1 node ls
  node_step 1 cluster status
  cat <<EOT

It runs. To look further, as node one:
  export ZLAYER_DATA_DIR=$home/node1/data
  ./zlayer status cluster
  ./zlayer scale cluster/web=5
Remove everything with:  ./quickstart --clean
EOT
}
