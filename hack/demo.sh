#!/usr/bin/env bash
# A VM's life, as a story, on real libvirt hosts and guests that really boot. What has a tick was checked: when something is not as
# the story says, the demo says what, and ends with exit status 1. Everything it makes is in a directory of its own and is gone
# afterwards, also after Ctrl-C. Demos beside each other, or beside "make up", do not meet.
#
# The directory is made in $HOLDFAST_DEMO_IN (default /var/tmp). That should be on a disk: the guests' disks want O_DIRECT, which
# tmpfs does not have before Linux 6.6.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_root demo
need_built demo

# How many seconds anything may take. Nothing takes as long on a quiet machine; this is for one with much else to do.
patience=240
export LC_ALL=C.UTF-8
unset HOLDFAST_SOCKET
SECONDS=0

# ---------------------------------------------------------------------------------------------- a directory, and no trace of it

in=$(cd "${HOLDFAST_DEMO_IN:-/var/tmp}" && pwd)
sweep() { # sweep DIR: removes a demo, dead or alive
  end_server "$1/data" || return 1
  [ ! -d "$1/lab" ] || end_lab "$1/bin/holdfast" "$1/lab" || return 1
  rm -rf "$1"
}
# Demos that were killed with SIGKILL could not clean up. The directory's name has the process's id.
for old in "$in"/holdfast-demo.[0-9]*; do
  pid=${old#*/holdfast-demo.} pid=${pid%%.*}
  [ -d "$old" ] && ! grep -qs demo.sh "/proc/$pid/cmdline" || continue
  echo "Clearing away an earlier demo, which was killed: $old"
  sweep "$old"
done

dir=$(mktemp -d "$in/holdfast-demo.$$.XXXXXX")
told='' claims=0
finish() {
  local code=$?
  trap - EXIT ERR
  trap '' INT TERM HUP PIPE
  if [ "$code" -gt 128 ]; then
    printf '\n%s\n' "Interrupted after $(clock); cleaning up." || true
  elif [ "$code" != 0 ] && [ -z "$told" ]; then
    printf '\n%s\n' "${red}The demo itself broke${plain} at: $broke" >&2 || true
  fi
  cd /
  sweep "$dir" || { printf '%s\n' "$dir could not be removed: holdfast lab down --dir $dir/lab, then rm -r $dir" >&2; code=1; }
  exit "$code"
}
broke=''
trap finish EXIT
trap 'broke=$BASH_COMMAND' ERR
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
trap 'exit 141' PIPE

cd "$dir"
# Copies, because the next "make" may build others meanwhile.
mkdir bin guest
cp "$binary" bin/holdfast
cp "$guest/vmlinuz" "$guest/initrd" guest
export PATH=$dir/bin:$PATH HOLDFAST_SOCKET=$dir/holdfast.sock

# ------------------------------------------------------------------------------------------------------------ telling the story

clock() { printf '%d:%02d' $((SECONDS / 60)) $((SECONDS % 60)); }
chapter=0
chapter() { printf '\n%s\n' "${bold}[$(clock)] $((++chapter)). $1${plain}"; }
say() { printf '  %s\n' "$*"; }
typed() { printf '%s\n' "${bold}\$ $1${plain}"; }
output() { sed "s/^/  $dim/; s/ *\$/$plain/" out; }

# fail WHAT: what does not hold, and what helps to find out why.
fail() {
  told=yes
  {
    printf '\n%s\n' "${red}The demo failed after $(clock):${plain} $1"
    printf '\n%s\n' "The VMs:"
    holdfast get vms -o wide 2>&1 || true
    printf '\n%s\n' "What happened last:"
    holdfast events -A 2>&1 | tail -n 12 || true
    printf '\n%s\n' "The server's log ends:"
    tail -n 12 server.log 2>&1 || true
  } >&2
  exit 1
}

# do_it ERRORS COMMAND: in a shell as a person has, where "COMMAND | head" may cut COMMAND off. Its answer goes to the file out,
# errors to the file that is named.
do_it() { : >out; (exec >>out 2>>"$1"; set +o pipefail; eval "$2"); }

# run COMMAND: shows it and its answer; what it says about its progress only if it fails.
run() {
  local code=0
  typed "$1"
  : >err
  do_it err "$1" || code=$?
  output
  [ "$code" = 0 ] || fail "\"$1\" ended with exit status $code: $(cat err)"
}

# refused STATUS COMMAND: the same for one that must fail with that exit status.
refused() {
  local code=0
  typed "$2"
  do_it out "$2" || code=$?
  output
  [ "$code" = "$1" ] || fail "\"$2\" ended with exit status $code, and should end with $1"
}

# wait_until COMMAND PATTERN…: repeats the command until what it says has all of the patterns, and shows that.
shown() { for pattern; do grep -Eq -- "$pattern" out || return 1; done; } # shown PATTERN…: by the last command
says() { do_it out "$1" && shown "${@:2}"; }
wait_until() {
  typed "$1"
  until_true $patience says "$@" || { output; fail "for $patience seconds \"$1\" has not shown all of: ${*:2}"; }
  output
}

# claim WHAT COMMAND…: checks it.
claim() {
  "${@:2}" || fail "it does not hold that: $1"
  claims=$((claims + 1))
  printf '  %s\n' "${green}✓${plain} $1"
}

# soon COMMAND…: for claims that may take a while to come true.
soon() { until_true $patience "$@"; }

# ----------------------------------------------------------------------------- looking from outside, never at Holdfast's status

# The test guest writes a record with its boot id to its disk each second, and looks whether somebody else does too.
records() { tr -d '\0' <"lab/shared/$1.raw" | awk '$1 == "HFBEAT1" && NF > 4'; }
beats() { records "$1" | wc -l; }
boots() { records "$1" | awk '!seen[$2]++ { print substr($2, 6) }'; }
count_boots() { boots "$1" | wc -l; }
boot() { boots "$1" | tail -n 1; }
short() { echo "${1:0:8}"; }
booted() { [ "$(count_boots "$1")" = "$2" ]; } # booted VM TIMES
boots_again() { # boots_again VM TIMES: waits until it has booted that often
  soon booted "$1" "$2" || fail "$1 has booted $(count_boots "$1") times, not $2, within $patience seconds; its serial log ends:
$(tail -n 5 "lab/shared/$1.log")"
}
beats_beyond() { [ "$(beats "$1")" -gt "$2" ]; }
goes_on() { soon beats_beyond "$1" "$(($(beats "$1") + 1))"; }
# Two at once would show as a conflict that a guest saw, or as records of an earlier boot behind those of a later one.
one_writer() { ! records "$1" | grep -q conflict= && [ "$(records "$1" | awk '{ print $2 }' | uniq | wc -l)" = "$(count_boots "$1")" ]; }
in_serial_log() { grep -aq "$2" "lab/shared/$1.log"; } # in_serial_log VM TEXT

uris() { holdfast lab status --dir lab | awk 'NR > 1 { print $3 }'; }
# domains: names of all domains on all hosts, whether they run or not.
domains() { for uri in $(uris); do virsh -q -c "$uri" list --all --name || echo "virsh failed on $uri"; done | sed '/^$/d' | sort; }
once_each() { [ "$(domains | cut -d . -f 1,2)" = "$(printf 'default.%s\n' "$@" | sort)" ]; } # once_each VM…, and nothing else
no_domain() { [ -z "$(domains)" ]; }

# ------------------------------------------------------------------------------------------------------------------ the manifests

manifest() { # manifest VM STRATEGY [RACK]: a VM of the test guest with a disk
  cat <<EOF
apiVersion: holdfast/v1
kind: VirtualMachine
metadata:
  name: $1
spec:
  runStrategy: $2
  template:
    memory: 96Mi
    kernelBoot:
      kernel: $dir/guest/vmlinuz
      initrd: $dir/guest/initrd
      cmdline: console=ttyS0 quiet no_timer_check
    disks:
    - name: heartbeat
      pool: shared
      volume: $1.raw
    serialLog:
      path: $dir/lab/shared/$1.log
EOF
  if [ -n "${3:-}" ]; then printf '  placement:\n    hostSelector:\n      rack: %s\n' "$3"; fi
}
{ manifest db Always b; echo ---; manifest web Always a; echo ---; manifest batch Manual; } >vms.yaml

cat >mistakes.yaml <<EOF
apiVersion: holdfast/v1
kind: VirtualMachine
metadata:
  name: fine
spec:
  template:
    memory: 96Mi
---
apiVersion: holdfast/v1
kind: VirtualMachine
metadata:
  name: thief
spec:
  running: true
  runStrategy: Manual
  template:
    memory: 96 megabytes
    disks:
    - name: root
      pool: shared
      volume: thief.raw
      bootorder: 1
EOF

cat >broken.yaml <<EOF
apiVersion: holdfast/v1
kind: VirtualMachine
metadata:
  name: broken
spec:
  runStrategy: Always
  template:
    memory: 96Mi
    kernelBoot:
      kernel: /nowhere/vmlinuz
EOF

# ------------------------------------------------------------------------------------------------------------------------ the story

leads() { holdfast version 2>/dev/null | grep -q '^Leader: .'; }
start_server() {
  typed 'holdfast server --data-dir data >>server.log 2>&1 &'
  holdfast server --data-dir data >>server.log 2>&1 &
  server=$!
  disown "$server"
  soon leads || fail "the server does not lead after $patience seconds"
}

printf '%s\n' "A VM's life on three libvirt hosts of this machine. Everything is in $dir, and gone afterwards."

chapter "Three hosts, and a server"
run 'holdfast lab up --dir lab'
start_server
rack=a
while read -r host _ uri; do
  run "holdfast host add $host $uri --label rack=$rack --wait"
  rack=$(tr a-y b-z <<<"$rack")
done < <(holdfast lab status --dir lab | tail -n +2)
wait_until 'holdfast get hosts' '^host1 +Up ' '^host2 +Up ' '^host3 +Up '
claim "three real libvirtd answer, and run nothing yet" no_domain

chapter "Three VMs: two that always run, each in its rack, and one that runs when told to"
run 'truncate -s 1M lab/shared/db.raw lab/shared/web.raw lab/shared/batch.raw'
run "sed '/^---/,\$d' vms.yaml"
run 'holdfast apply -f vms.yaml'
wait_until 'holdfast get vms' '^db +Running +host2 ' '^web +Running +host1 ' '^batch +Stopped '
boots_again db 1
boots_again web 1
db=$(boot db) web=$(boot web)
soon in_serial_log db "tick .*boot=$db" || fail "the serial log of db does not have the boot id that is on its disk, $db"
run 'grep -m 2 boot= lab/shared/db.log'
run "tr -d '\\0' <lab/shared/db.raw | tail -n 1 | cut -d ' ' -f 1-4"
claim "db's guest booted: its serial line and its disk say the same boot id, $(short "$db")" in_serial_log db "boot=$db .* up"
claim "web's guest booted: $(short "$web")" in_serial_log web "boot=$web .* up"
claim "batch was left alone, because nobody started it" booted batch 0

chapter "A manifest with mistakes changes nothing, and says where they are"
refused 1 'holdfast apply -f mistakes.yaml'
claim "all three mistakes are told, each with file, line, field and remedy" shown \
  'mistakes.yaml:14:.*running' 'mistakes.yaml:17:.*memory' 'mistakes.yaml:22:.*did you mean "bootOrder"'
refused 3 'holdfast get vm fine'
claim "the good VM in the same file was not made either" shown 'does not exist'

chapter "What is it doing, why, and what comes next?"
wait_until 'holdfast describe vm db | head -n 5' '^State: +Running on host2'
claim "describe answers all three" shown '^State: +.' '^Why: +.' '^Next: +.'

chapter "Stop, start, restart"
run 'holdfast stop db --wait'
run "grep 'power button' lab/shared/db.log"
claim "the guest of db was asked, and shut itself down" in_serial_log db "boot=$db off because of the power button"
wait_until 'holdfast get vms' '^db +Stopped ' '^web +Running '
run 'holdfast start db --wait'
run 'holdfast restart web --wait'
boots_again db 2
boots_again web 2
claim "db was booted again: $(short "$db"), now $(short "$(boot db)")" booted db 2
claim "web was booted again: $(short "$web"), now $(short "$(boot web)")" booted web 2
db=$(boot db) web=$(boot web)

chapter "A VM that cannot start waits longer and longer, and a stop sticks"
run 'holdfast apply -f broken.yaml'
wait_until 'holdfast get vms' '^broken +CrashLoopBackOff' '^db +Running ' '^web +Running '
wait_until 'holdfast describe vm broken | head -n 5' '^State: +Backing off'
claim "the cause is there, in libvirt's own words" shown '/nowhere/vmlinuz: No such file or directory'
retry_known() { retry=$(holdfast get vm broken -o yaml | sed -n 's/^ *retryAt: *//p' | tr -d '"') && [ -n "$retry" ]; }
soon retry_known || fail "the status of broken does not say when it is tried again"
run 'holdfast stop broken'
instances() { holdfast get vm "$1" -o yaml | sed -n 's/^  instances: //p'; }
wait_until 'holdfast get vms' '^broken +Stopped '
tried=$(instances broken)

chapter "The server is killed in the middle of a start and a restart"
run "holdfast start batch && holdfast restart web && kill -9 $server"
soon no_server "$dir/data" || fail "the server survives kill -9"
refused 6 'holdfast get vms'
claim "nobody is in charge, and the guest of db goes on" goes_on db
start_server
boots_again batch 1
boots_again web 3
wait_until 'holdfast get vms' '^db +Running ' '^web +Running ' '^batch +Running ' '^broken +Stopped '
run 'holdfast get actions | tail -n 2'
claim "db was adopted: boot id $(short "$db") before, $(short "$(boot db)") now" [ "$db" = "$(boot db)" ]
claim "batch was started once, web restarted once: $(short "$web") before, $(short "$(boot web)") now" eval 'booted batch 1 && booted web 3'
web=$(boot web)
claim "virsh finds each of the three on one host, and nothing else" once_each db web batch

chapter "A host hangs: its libvirtd answers nothing any more"
run 'holdfast lab freeze host2 --dir lab'
wait_until 'holdfast get hosts' '^host1 +Up ' '^host2 +Unreachable ' '^host3 +Up '
wait_until 'holdfast get vms' '^db +Unknown ' '^web +Running '
run 'holdfast describe vm db | head -n 5'
claim "it says why it does not know, and what it will do" shown '^State: +Unknown' '^Why: +Host host2 has not answered' '^Next: +As soon as the host answers'
claim "web on host1 is not affected, and the guest of db itself goes on too" eval 'goes_on web && goes_on db'
run 'holdfast lab thaw host2 --dir lab'
wait_until 'holdfast get vms' '^db +Running +host2 ' '^web +Running '
claim "db is the same as before, and was started nowhere else: $(short "$db")" [ "$db" = "$(boot db)" ]
due() { [ "$(date +%s)" -gt "$(date -d "$retry" +%s)" ]; }
claim "broken is still off, though its next try would have been at $(date -d "$retry" +%T)" \
  eval 'soon due && says "holdfast get vms" "^broken +Stopped " && [ "$tried" = "$(instances broken)" ]'

chapter "Everything goes"
run 'holdfast delete -f vms.yaml -f broken.yaml --wait'
wait_until 'holdfast get vms' 'No virtual machines'
claim "virsh finds nothing on any host" no_domain
claim "their disks are still there, as always" [ -s lab/shared/db.raw ]
total=$(($(count_boots db) + $(count_boots web) + $(count_boots batch)))
claim "db booted 2 times, web 3 times, batch once: $total boots, each asked for" eval 'booted db 2 && booted web 3 && booted batch 1'
claim "no disk ever had two writers" eval 'one_writer db && one_writer web && one_writer batch'
run 'holdfast host cordon host1 host2 host3'
run 'holdfast delete host host1 host2 host3 --wait'
run "kill $server"
soon no_server "$dir/data" || fail "the server does not end"
card=$(cat "/sys/class/net/hflab$(sed -n 's/^ *"number": *\([0-9]*\).*/\1/p' lab/lab.json)/address")
run 'holdfast lab down --dir lab'
nothing_left() { [ ! -e lab ] && ! grep -qs "$card" /sys/class/net/*/address && ! grep -qsl "$dir/lab" /proc/[0-9]*/cmdline; }
claim "no process, no network and no file of the lab is left" nothing_left

printf '\n%s\n' "${bold}[$(clock)] Done: $total boots, $claims claims checked.${plain}"
say "Guests really booted; what was asked for was done once, a kill -9 in the middle included; nothing else was"
say "stopped or started, when the server died, when a host hung, or when another VM was broken; no guest ran twice."
