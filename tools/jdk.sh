# Sourced by ./zlayer, ./verify, ./quickstart and tools/*: finds a JDK 25 and exports JAVA_HOME.
# Order: JAVA_HOME, the usual directories, `java` on the PATH. The `release` file tells the version
# without starting a JVM.

jdk_is_25() {
  [ -x "$1/bin/javac" ] && [ -r "$1/release" ] || return 1
  while read -r jdk_line; do
    case $jdk_line in JAVA_VERSION=\"25[.\"]*) return 0 ;; esac
  done <"$1/release"
  return 1
}

# sets jdk_home: who asks for its output instead starts another shell for that
find_jdk() {
  for jdk_home in "${JAVA_HOME:-}" /usr/lib/jvm/* /usr/java/* /opt/java/* /opt/jdk* \
    "${HOME:-}"/.sdkman/candidates/java/* "${HOME:-}"/.jdks/*; do
    if [ -n "$jdk_home" ] && jdk_is_25 "$jdk_home"; then
      return 0
    fi
  done
  jdk_java=$(command -v java 2>/dev/null) || return 1
  jdk_home=$(dirname "$(dirname "$(readlink -f "$jdk_java")")")
  jdk_is_25 "$jdk_home"
}

use_jdk() {
  if ! find_jdk; then
    echo "zlayer needs a JDK 25 and found none: install one (for example Temurin 25) and set JAVA_HOME to it" >&2
    exit 1
  fi
  JAVA_HOME=$jdk_home
  export JAVA_HOME
}
