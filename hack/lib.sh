# What demo.sh, up.sh and down.sh share. Sourced, not run.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
binary=$repo/bin/holdfast
guest=${GUEST_DIR:-$repo/.cache/guest}

# Colours on a terminal only.
bold='' dim='' green='' red='' plain=''
if [ -t 1 ] && [ "${TERM:-dumb}" != dumb ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' red=$'\e[31m' plain=$'\e[0m'
fi

need_root() { # need_root TARGET
  [ "$(id -u)" = 0 ] && return 0
  echo "make $1 needs root, because it makes network namespaces and runs libvirtd: sudo make $1" >&2
  exit 1
}

need_built() { # need_built TARGET
  [ -x "$binary" ] && [ -s "$guest/vmlinuz" ] && [ -s "$guest/initrd" ] && return 0
  echo "$binary or the test guest in $guest is missing: run \"make $1\", which builds them first" >&2
  exit 1
}

# until_true SECONDS COMMAND…: tries again and again; fails when it did not succeed in that time.
until_true() {
  local end=$((SECONDS + $1)); shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.2
  done
}

# server_pids DATA_DIR: the servers that keep their data there.
server_pids() {
  local proc words i dir
  for proc in /proc/[0-9]*; do
    mapfile -d '' -t words 2>/dev/null <"$proc/cmdline" || continue
    [ "${words[1]:-}" = server ] || continue
    for ((i = 2; i < ${#words[@]} - 1; i++)); do
      [ "${words[i]}" = --data-dir ] || continue
      dir=${words[i + 1]}
      [ "${dir:0:1}" = / ] || dir=$(readlink "$proc/cwd")/$dir
      [ "$dir" != "$1" ] || echo "${proc#/proc/}"
    done
  done 2>/dev/null
}

no_server() { [ -z "$(server_pids "$1")" ]; }

# end_server DATA_DIR: asks the server there to end, and kills it when it does not.
end_server() {
  local signal pid
  for signal in TERM KILL; do
    no_server "$1" && return 0
    for pid in $(server_pids "$1"); do kill "-$signal" "$pid" 2>/dev/null || true; done
    until_true 20 no_server "$1" && return 0
  done
  echo "the server, process $(server_pids "$1"), does not end when it is killed: something in it hangs in the kernel" >&2
  return 1
}

# end_lab HOLDFAST DIR: takes the lab down. In a session of its own, where an impatient Ctrl-C does not reach it.
end_lab() { setsid -w "$1" lab down --dir "$2" >/dev/null; }

# one_at_a_time: up.sh and down.sh wait for each other. Whoever lives longer than the script must be started with 9>&-.
one_at_a_time() {
  mkdir -p "$repo/.cache"
  exec 9>"$repo/.cache/up.lock"
  flock 9
}
