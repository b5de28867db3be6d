# Sourced by ./zlayer, ./verify, ./quickstart and ./benchmark after jdk.sh: builds dist/ when sources changed.

build_is_stale() {
  [ -f "$root/dist/built" ] || return 0
  changed=$(find "$root"/*/src/main "$root"/*/pom.xml "$root/pom.xml" "$root/tools" \
    -newer "$root/dist/built" -type f -print 2>/dev/null | head -n 1)
  [ -n "$changed" ]
}

# build_dist [MODULES]: with further modules than the shipped ones
build_dist() {
  build_is_stale || return 0
  echo "zlayer: building (the sources changed) ..." >&2
  started=$(date +%s)
  if ! (cd "$root" && mvn -q -B -Dquickly -Dmaven.test.skip=true -pl "${1:-cli}" -am package >"$root/build.log" 2>&1 && "$root/tools/dist"); then
    tail -n 40 "$root/build.log" >&2
    echo "zlayer: the build failed; the whole output is in $root/build.log" >&2
    exit 1
  fi
  rm -f "$root/build.log"
  echo "zlayer: built in $(($(date +%s) - started)) s" >&2
}
