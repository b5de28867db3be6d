# Sourced by tools/vm-cluster: what is checked, in the order of run_checks. Times are of this machine's clock, and beats (lines TIME NODE
# NAME ID ... in $work/beats) were written down by it: whoever has set the clock of a machine cannot change when its containers ran.

# a beat comes twice a second; what emulates the machines may have others to serve
SILENCE=6
# how long the beats of a machine that continues may go on: its clock stood still, so it learns of its lost claim from the others
AFTERWARDS=20

elapsed() { echo "$(($(date +%s) - begun))"; }
now() { date +%s.%N; }

say() {
  echo "$@"
  echo "$@" >>"$work/results.log"
}

# check NAME COMMAND...: $measured is added to the name; the command's output, and what the agents say, is shown when it fails
check() {
  title=$1
  shift
  measured=
  if "$@" >"$work/check.out" 2>&1; then
    say "ok   $title$measured ($(elapsed) s)"
  else
    say "FAIL $title$measured ($(elapsed) s)"
    {
      tail -n 40 "$work/check.out"
      echo "beats:"
      for name in web single often; do current "$name" | sed "s/^/$name /"; done
      patience=60
      everywhere 'date; journalctl -b -u zlayer -n 15 --no-pager; zlayer cluster status; zlayer node ls; zlayer ps three' || true
      patience=
    } | sed 's/^/    /' | tee -a "$work/results.log"
  fi
}

# until_true SECONDS COMMAND...
until_true() {
  end=$(($(date +%s) + $1))
  shift
  until "$@"; do
    [ "$(date +%s)" -lt "$end" ] || {
      echo "not within its time: $*"
      return 1
    }
    sleep 0.5
  done
}

# current NAME: lines "ID NODE" of what runs by that name
current() {
  awk -v name="$1" -v since="$(date +%s)" -v silence="$SILENCE" \
    '$3 == name && $1 >= since - silence { node[$4] = $2 } END { for (id in node) print id, node[id] }' "$work/beats" | sort
}

# lines "SECONDS ID on NODE, ID on NODE" for any two that ran at the same time
overlaps() {
  awk -v name="$1" '
    $3 == name { if (!($4 in first)) first[$4] = $1; last[$4] = $1; node[$4] = $2 }
    END {
      for (a in first) for (b in first)
        if (a != b && (first[a] < first[b] || first[a] == first[b] && a < b) && first[b] < last[a])
          printf "%.1f %s on %s, %s on %s\n", (last[a] < last[b] ? last[a] : last[b]) - first[b], a, node[a], b, node[b]
    }' "${2:-$work/beats}"
}

runs_since() { awk -v since="$1" '$3 == "often" { if (!($4 in first)) first[$4] = $1 } END { for (id in first) if (first[id] > since) n++; print n + 0 }' "$work/beats"; }
ran_again() { [ "$(runs_since "$1")" -ge 2 ]; }

seconds_since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.0f", b - a }'; }

answers() { [ "$(patience=20 at "$1" 'echo here' | head -n 1)" = here ]; }
all_answer() { for one in $nodes; do answers "$one" || return 1; done; }

# as node $1 sees it
all_ready() { [ "$(at "$1" 'zlayer node ls' | tee "$work/nodes" | grep -c -w ready)" = 3 ]; }

leader() {
  case $(at "$1" 'zlayer cluster status' | sed -n 's/^leader *\([a-z]*\).*/\1/p') in
  one) echo 1 ;; two) echo 2 ;; three) echo 3 ;;
  esac
}

other_than() { for one in $nodes; do case " $* " in *" $one "*) ;; *) echo "$one" && return ;; esac; done; }

# -- a cluster

installed() {
  until_true 300 all_answer || return 1
  patience=400
  everywhere 'dpkg -i /payload/zlayer.deb && systemctl is-active zlayer && zlayer image import /payload/image.tar vm/busybox:1 &&
    zlayer info >/tmp/info; cat /tmp/info; uname -r; lsmod | grep wireguard
    grep -q "^kernel *6\.1\." /tmp/info && grep -q "^apparmor *yes" /tmp/info && grep -q "^cgroups *v2" /tmp/info'
  status=$?
  patience=
  return $status
}

# joins NODE NAME: again when the first node was too busy to answer, as emulated ones are after they have begun something
joins() {
  token=$(at 1 'zlayer cluster token' | grep -o 'zljoin-[^ ]*' | head -n 1)
  at "$1" "zlayer cluster join 192.0.2.1 --token $token --name $2 --advertise 192.0.2.$1"
}

cluster_begins() {
  from=$(now)
  at 1 "zlayer cluster init --name one --advertise 192.0.2.1 --encrypt $store" || return 1
  until_true 120 joins 2 two || return 1
  until_true 120 joins 3 three || return 1
  until_true 180 all_ready 1 || { cat "$work/nodes"; return 1; }
  measured=": after $(seconds_since "$from") s"
}

one_on_each() { [ "$(current web | cut -d' ' -f2 | sort -u | wc -l)" = 3 ] && [ "$(current web | wc -l)" = 3 ] && one_single; }
one_single() { [ "$(current single | wc -l)" = 1 ]; }
three_and_one() { [ "$(current web | wc -l)" = 3 ] && one_single; }

deployed() {
  from=$(now)
  patience=400 at 2 'zlayer up /payload/vm.zlayer.yml --wait 300s' || return 1
  until_true 120 one_on_each || return 1
  measured=": after $(seconds_since "$from") s"
}

# the newest beat of each replica names all the others
all_see() {
  awk -v since="$(date +%s)" -v silence="$SILENCE" '
    $3 == "web" && $1 >= since - silence { seen[$4] = ""; for (i = 5; i <= NF; i++) seen[$4] = seen[$4] " " $i }
    END {
      for (a in seen) { count++; for (b in seen) if (!index(seen[a], b)) missing = missing " " a ">" b }
      printf "%s", missing
      exit !(count == 3 && missing == "")
    }' "$work/beats" >"$work/missing"
}

reached_by_name() { until_true 120 all_see || { echo "not reached: $(cat "$work/missing")"; return 1; }; }

# the kernel module, with a handshake of each pair
kernel_encrypts() {
  everywhere 'wg show; device=$(wg show interfaces)
    ip -d link show dev "$device"; lsmod | grep ^wireguard; pgrep -a wireguard-go && exit 1
    [ "$(wg show "$device" latest-handshakes | awk "\$2 > 0" | wc -l)" = 2 ] && ip -d link show dev "$device" | grep -q wireguard &&
    lsmod | grep -q ^wireguard'
}

# while replicas fetch each other's pages
nothing_is_readable() {
  ip netns exec "$net" timeout 15 tcpdump -i link0 -s 0 -Z root -w "$work/link.pcap" 'net 192.0.2.0/24 and not host 192.0.2.254' || true
  packets=$(tcpdump -r "$work/link.pcap" -n 'udp port 51820' 2>/dev/null | wc -l)
  other=$(tcpdump -r "$work/link.pcap" -n 'not (udp port 51820 or arp or icmp or tcp port 2377 or tcp port 2379 or tcp port 2380)' 2>/dev/null)
  echo "packets of WireGuard: $packets; others: $other"
  [ "$packets" -ge 20 ] && [ -z "$other" ] || return 1
  if grep -a -q THE-PAYLOAD "$work/link.pcap"; then echo "it is readable"; return 1; fi
  all_see || return 1
  rm -f "$work/link.pcap"
  measured=": $packets packets in 15 s"
}

# -- clocks

# everything that was lost or moved until now, as node $1 has it
losses() { at "$1" 'zlayer events --json -n 10000' | grep -c -e node.lost -e replica.moved -e job.lost; }

# clock NODE SECONDS: so much ahead of ours, or behind it
clock() { at "$1" "date -s @$(($(date +%s) + $2))"; }

# nothing ends, nothing moves, the schedule continues and new connections in both directions are made
clock_is_set() {
  beside=$(other_than "$1")
  before="$(current web) $(current single)"
  lost=$(losses "$beside")
  from=$(now)
  clock "$1" "$2" || return 1
  until_true 240 ran_again "$from" || { at "$beside" 'zlayer cron ls; zlayer job history three/often'; return 1; }
  after="$(current web) $(current single)"
  echo "before: $before"
  echo "after: $after"
  [ "$before" = "$after" ] || return 1
  losses "$beside" >"$work/lost"
  echo "lost or moved before: $lost, after: $(cat "$work/lost")"
  [ "$(cat "$work/lost")" = "$lost" ] || { at "$beside" 'zlayer events -n 30'; return 1; }
  all_see || return 1
  for one in "$1" "$beside"; do
    [ "$(at "$one" 'for i in 1 2 3; do zlayer exec three/web/$i echo reached; done' | grep -c -x reached)" = 3 ] || {
      at "$one" 'for i in 1 2 3; do zlayer exec three/web/$i echo reached; done; zlayer cluster status'
      return 1
    }
  done
}

# with the clock as it is, certificates of the others are as new to it as to a machine that was started with a wrong clock
agent_starts_anew() {
  beside=$(other_than "$1")
  from=$(now)
  patience=200 at "$1" 'systemctl restart zlayer' || return 1
  until_true 180 all_ready "$1" || { cat "$work/nodes"; return 1; }
  until_true 60 all_ready "$beside" || { cat "$work/nodes"; return 1; }
  until_true 120 three_and_one || return 1
  at "$1" 'zlayer cluster status' | tee "$work/status"
  ! grep -q '^problem' "$work/status" || return 1
  measured=": ready after $(seconds_since "$from") s"
}

# -- machines

none_on() { [ "$(current web | wc -l)" -ge 3 ] && ! { current web; current single; } | grep -q " $1\$" && one_single; }
web_without() { [ "$(current web | grep -c -v " $1\$")" -ge 3 ]; }
single_without() { current single | grep -q -v " $1\$"; }
at_least() { [ "$(seconds_since "$1")" -ge "$2" ]; }

# stopped for a minute by its hypervisor, and its clock with it; another node runs the single instance when it continues
stopped_machine() {
  id=$(current single | cut -d' ' -f1)
  victim=$(current single | cut -d' ' -f2)
  beside=$(other_than "$victim")
  from=$(now)
  control "$victim" stop || return 1
  until_true 200 single_without "$victim" || { control "$victim" cont; return 1; }
  taken=$(awk -v id="$id" '$3 == "single" && $4 != id { newest = $4; if (!($4 in first)) first[$4] = $1 } END { print first[newest] }' "$work/beats")
  until_true 90 at_least "$from" 60
  continued=$(now)
  control "$victim" cont || return 1
  until_true 180 all_ready "$beside" || { cat "$work/nodes"; return 1; }
  until_true 180 three_and_one || return 1
  last=$(awk -v id="$id" '$4 == id { last = $1 } END { print last }' "$work/beats")
  awk -v a="$from" -v b="$taken" -v c="$continued" -v d="$last" 'BEGIN { printf ": the other began after %.0f s, it ended %.1f s after it continued\n", b - a, (d > c) ? d - c : 0 }' >"$work/measured"
  measured=$(cat "$work/measured")
  # what is known to overlap, and is in the documentation
  overlaps single | grep "$id" >>"$work/known"
  awk -v c="$continued" -v d="$last" -v most="$AFTERWARDS" 'BEGIN { exit !(d < c + most) }'
}

power_fails() {
  victim=$(current single | cut -d' ' -f2)
  from=$(now)
  power_off "$victim"
  until_true 120 web_without "$victim" || return 1
  measured=": replicas after $(seconds_since "$from") s"
  until_true 200 single_without "$victim" || return 1
  measured="$measured, the single instance after $(seconds_since "$from") s"
  until_true 120 none_on "$victim"
}

power_is_back() {
  from=$(now)
  power_on "$victim"
  until_true 300 answers "$victim" || return 1
  until_true 300 all_ready "$(other_than "$victim")" || { cat "$work/nodes"; return 1; }
  measured=": ready after $(seconds_since "$from") s"
  until_true 180 three_and_one && until_true 120 all_see && until_true 120 all_ready "$victim"
}

is_off() { eval "! kill -0 \"\$emulator$1\"" 2>/dev/null; }

reboots_in_order() {
  victim=$1
  from=$(now)
  patience=20 at "$victim" 'systemctl reboot' || true
  until_true 240 is_off "$victim" || return 1
  off "$victim"
  measured=": off after $(seconds_since "$from") s"
  power_on "$victim"
  until_true 300 answers "$victim" || return 1
  at "$victim" 'journalctl -b -1 --no-pager | grep -i "timed out. killing"' && return 1
  until_true 300 all_ready "$(other_than "$victim")" || { cat "$work/nodes"; return 1; }
  until_true 180 three_and_one && until_true 120 all_see
}

# -- the whole time

never_two() {
  overlaps single >"$work/overlaps"
  [ ! -e "$work/known" ] || grep -v -x -F -f "$work/known" "$work/overlaps" >"$work/unknown" || true
  [ -e "$work/unknown" ] || cp "$work/overlaps" "$work/unknown"
  cat "$work/overlaps"
  instances=$(awk '$3 == "single" { print $4 }' "$work/beats" | sort -u | wc -l)
  measured=": $instances one after the other"
  [ ! -s "$work/unknown" ] && [ "$instances" -ge 2 ]
}

each_time_once() {
  overlaps often | tee "$work/overlaps"
  at 1 'zlayer job history three/often --json -n 200' >"$work/history"
  runs=$(awk '$3 == "often" { print $4 }' "$work/beats" | sort -u | wc -l)
  grep -o '"due": *"[^"]*"' "$work/history" | sort >"$work/due"
  uniq -d <"$work/due" | tee "$work/repeated"
  measured=": $runs runs"
  [ ! -s "$work/overlaps" ] && [ ! -s "$work/repeated" ] && [ -s "$work/due" ] && [ "$runs" -ge 10 ]
}

run_checks() {
  check "the package installs on three machines with kernel 6.1 and AppArmor" installed
  check "a cluster that encrypts begins, and two nodes join" cluster_begins
  check "a deployment runs on all three" deployed
  check "replicas reach each other by name on all three" reached_by_name
  check "the kernel's WireGuard connects each pair" kernel_encrypts
  check "nothing of what they send is readable between the machines" nothing_is_readable
  follower=$(other_than "$(leader 1)")
  check "clock of a node set two hours ahead: nothing ends, moves or is refused" clock_is_set "$follower" 7200
  check "then two hours behind: the same" clock_is_set "$follower" -7200
  check "an agent that starts with a clock two hours behind is ready" agent_starts_anew "$follower"
  clock "$follower" 0 >/dev/null || true
  leading=$(leader 1)
  check "clock of the leader set two hours ahead: nothing ends, moves or is refused" clock_is_set "$leading" 7200
  check "then two hours behind: the same" clock_is_set "$leading" -7200
  check "then right again: the same" clock_is_set "$leading" 0
  check "a machine is stopped for a minute, and its clock: its single instance ends" stopped_machine
  check "the power of a node fails: everything runs elsewhere" power_fails
  check "the power is back: the node is ready, the surplus ends" power_is_back
  check "a node is rebooted in order" reboots_in_order "$(other_than "$victim")"
  check "the single instance never ran twice" never_two
  check "the schedule started each time once, and no two at a time" each_time_once
}
