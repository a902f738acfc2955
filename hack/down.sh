#!/usr/bin/env bash
# Takes down what hack/up.sh has made, in whatever state it is, and removes .lab/ with everything in it. Does nothing when nothing
# is there.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

up=$repo/.lab
[ -e "$up" ] || { echo "Nothing is up."; exit 0; }
need_root down
one_at_a_time
[ -x "$binary" ] || make -C "$repo" --no-print-directory build
end_server "$up/data"
end_lab "$binary" "$up/lab"
rm -rf "$up"
echo "The server and the lab are gone, and so is $up."
