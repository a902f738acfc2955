#!/usr/bin/env bash
# A lab of three libvirt hosts and a server, left running to try things on, in .lab/ of this repository. Run again, it starts what
# is missing and leaves the rest as it is. "make down" takes all of it down.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_root up
need_built up

cd "$repo"
up=$repo/.lab
export HOLDFAST_SOCKET=$up/holdfast.sock
one_at_a_time
mkdir -p "$up"

leads() { "$binary" version 2>/dev/null | grep -q '^Leader: .'; }
server=$(server_pids "$up/data")
if [ -z "$server" ]; then
  # A session of its own: neither Ctrl-C nor the end of this terminal reaches it.
  setsid "$binary" server --data-dir "$up/data" >>"$up/server.log" 2>&1 </dev/null 9>&- &
  server=$!
fi
settled() { leads || ! kill -0 "$server" 2>/dev/null; }
until_true 120 settled || true
leads || { echo "the server does not lead; its log, $up/server.log, ends:" >&2; tail -n 5 "$up/server.log" >&2; exit 1; }

"$binary" lab up --dir "$up/lab" 9>&- || { echo "To start over: make down, then make up" >&2; exit 1; }
is_up() { "$binary" get host "$1" 2>/dev/null | grep -q "^$1 *Up "; }
"$binary" lab status --dir "$up/lab" | tail -n +2 >"$up/hosts"
while read -r host state _; do
  # A host that somebody switched off, froze or unplugged stays so.
  case $state in
  on) ;;
  off) echo "$host is off; to switch it on: holdfast lab power-on $host --dir .lab/lab"; continue ;;
  frozen) echo "$host is frozen; to end that: holdfast lab thaw $host --dir .lab/lab"; continue ;;
  *) echo "$host is $state; to end that: holdfast lab plug $host --dir .lab/lab"; continue ;;
  esac
  until_true 120 is_up "$host" || { "$binary" describe host "$host" | head -n 4 >&2; echo "To start over: make down, then make up" >&2; exit 1; }
done <"$up/hosts"

# examples/hello.yaml, with this lab's and this guest's paths.
sed -e '/^#/d' -e "s|/var/lib/holdfast-guest/|$guest/|" -e "s|/var/lib/holdfast-lab/|$up/lab/|" examples/hello.yaml >"$up/hello.yaml"

cat <<EOF

${bold}Three hosts and a server are up.${plain} In each shell in which you use them, as root:

  export HOLDFAST_SOCKET=$HOLDFAST_SOCKET PATH=$repo/bin:\$PATH
  cd $repo

Then try:

  holdfast apply -f .lab/hello.yaml           ${dim}# a VM, from a manifest${plain}
  holdfast get vms --watch                    ${dim}# see it start; Ctrl-C ends the watching${plain}
  tail -F .lab/lab/shared/hello.log           ${dim}# what its guest says${plain}
  holdfast describe vm hello                  ${dim}# its state, why, and what comes next${plain}
  holdfast restart hello --wait               ${dim}# a new instance; stop, start and delete are alike${plain}
  holdfast lab freeze host1 --dir .lab/lab    ${dim}# its host hangs: describe it again after 15 seconds; then thaw it${plain}
  holdfast events                             ${dim}# what happened so far${plain}
  make down                                   ${dim}# when you have seen enough: everything goes, disks too${plain}

The server's log is .lab/server.log. The words are explained in docs/concepts.md, the commands in docs/cli-reference.md.
EOF
