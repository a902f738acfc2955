#!/usr/bin/env bash
# Installs the Debian packages that the lab, the tests and the demo need and this machine lacks. Says which and why; is silent
# when there is nothing to do. What it does to the machine: apt-get update and install, without recommended packages. It starts
# no service: where systemd runs, a policy-rc.d refuses that for as long as the installation takes. libvirt's units are enabled
# by their package, though, and would start with the next boot; the last line says how to prevent it.
#   usage: hack/packages.sh            installs (as root)
#          hack/packages.sh --check    says what is missing, exit status 1 when anything is
set -euo pipefail

packages=(
  "libvirt-daemon|the lab's hosts: libvirtd"
  "libvirt-daemon-driver-qemu|libvirt's QEMU driver"
  "libvirt-daemon-system|libvirt's directories and user"
  "libvirt-clients|virsh, to look inside"
  "qemu-system-x86|guests"
  "qemu-utils|qcow2 volumes"
  "ovmf|firmware of UEFI guests"
  "iproute2|the lab's network"
  "cpio|building the test guest"
)

say() { echo "packages.sh: $*" >&2; }
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

command -v dpkg-query >/dev/null || { say "this is no Debian: install what corresponds to: ${packages[*]%%|*}"; exit 1; }
missing=()
for line in "${packages[@]}"; do
  installed "${line%%|*}" && continue
  missing+=("${line%%|*}")
  say "missing: ${line%%|*} – ${line#*|}"
done
[ ${#missing[@]} -gt 0 ] || exit 0
[ "${1:-}" != --check ] || exit 1
[ "$(id -u)" = 0 ] || { say "installing takes root: sudo hack/packages.sh"; exit 1; }

# No service may start: the lab runs libvirtd by itself, and a demo must not leave a daemon behind.
policy=/usr/sbin/policy-rc.d
if [ -d /run/systemd/system ] && [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
run() { # run COMMAND…: shows its output only when it fails
  local log; log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then cat "$log" >&2; rm -f "$log"; say "failed: $*"; exit 1; fi
  rm -f "$log"
}
say "updating apt's lists"
run apt-get -q update
say "installing ${missing[*]}"
run apt-get -q -y -o Dpkg::Options::=--force-confold install --no-install-recommends "${missing[@]}"
if [ -d /run/systemd/system ] && printf '%s\n' "${missing[@]}" | grep -qx libvirt-daemon-system; then
  say "libvirt's services were not started; to keep them from starting at boot: systemctl disable libvirtd libvirtd.socket"
fi
