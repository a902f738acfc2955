#!/usr/bin/env bash
# Builds the test guest: Debian's cloud kernel and an initramfs of busybox and hack/guest/init. Nothing is installed: the
# packages are downloaded and unpacked. The result is $GUEST_DIR/vmlinuz and $GUEST_DIR/initrd (default: .cache/guest here).
# Run again, it does nothing unless the guest's sources changed, and then needs no network: it keeps the packages.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${GUEST_DIR:-$(dirname "$here")/.cache/guest}

# What the guest can drive: virtio, the power button, the panic device, CD-ROMs on virtio-scsi or (machine type pc) IDE. Debian's
# cloud kernel has no AHCI driver, so a SATA CD-ROM, as on q35, is not seen.
wanted=(virtio_pci virtio_blk virtio_net virtio_console virtio_rng virtio_scsi ata_piix sr_mod isofs button evdev
  pvpanic_mmio pvpanic_pci)

die() { echo "guest.sh: $*" >&2; exit 1; }
say() { echo "guest.sh: $*" >&2; }

[ "$(uname -m)" = x86_64 ] || die "the test guest is for x86_64 machines only"
for tool in apt-get dpkg-deb cpio gzip flock sha256sum; do
  command -v "$tool" >/dev/null || die "$tool is missing: run hack/packages.sh"
done
mkdir -p "$out"; out=$(cd "$out" && pwd)
exec 9>"$out/lock"; flock 9

stamp=$(cat "$here/guest.sh" "$here/guest/init" | sha256sum | cut -d' ' -f1)
if [ -s "$out/vmlinuz" ] && [ -s "$out/initrd" ] && [ "$(cat "$out/stamp" 2>/dev/null)" = "$stamp" ]; then exit 0; fi

# --- packages
kernel_package() {
  apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*-cloud-amd64\)$/\1/p' | head -n 1
}
fetch() { # fetch NAME: downloads the newest package of that name
  (cd "$out/deb" && apt-get -q -o APT::Sandbox::User=root download "$1" >/dev/null) || die "cannot download Debian package $1"
}
deb() { # deb PATTERN: the package there is
  local found=("$out"/deb/$1); [ -e "${found[0]}" ] && echo "${found[0]}"
}
mkdir -p "$out/deb"
if ! deb 'linux-image-*.deb' >/dev/null || ! deb 'busybox-static_*.deb' >/dev/null; then
  if [ -z "$(kernel_package)" ]; then
    [ "$(id -u)" = 0 ] || die "apt does not know linux-image-cloud-amd64: run apt-get update as root"
    say "updating apt's lists"
    apt-get -q update >/dev/null || die "apt-get update failed"
  fi
  kernel=$(kernel_package); [ -n "$kernel" ] || die "apt does not know linux-image-cloud-amd64: is this Debian?"
  say "downloading $kernel and busybox-static"
  deb 'linux-image-*.deb' >/dev/null || fetch "$kernel"
  deb 'busybox-static_*.deb' >/dev/null || fetch busybox-static
fi

# --- unpack
work=$(mktemp -d "$out/build.XXXXXX"); trap 'rm -rf "$work"' EXIT
dpkg-deb --fsys-tarfile "$(deb 'linux-image-*.deb')" | tar -x -C "$work" --wildcards './boot/vmlinuz-*' '*lib/modules/*'
dpkg-deb -x "$(deb 'busybox-static_*.deb')" "$work/busybox"
busybox=$(find "$work/busybox" -type f -name busybox -path '*bin/*' | head -n 1)
modules=$(find "$work" -type d -path '*lib/modules/*' -name '[0-9]*' -prune | head -n 1)
[ -x "$busybox" ] && [ -d "$modules" ] || die "the packages in $out/deb are not what they should be: delete them and try again"

# --- the initramfs: modules are numbered in the order in which they can be loaded
root=$work/root
mkdir -p "$root"/{bin,dev,proc,sys,lib/modules}
install -m 755 "$busybox" "$root/bin/busybox"
install -m 755 "$here/guest/init" "$root/init"
for applet in $("$busybox" --list); do [ -e "$root/bin/$applet" ] || ln -s busybox "$root/bin/$applet"; done
# Newer packages have compressed modules, which depmod of busybox does not read.
find "$modules" -name '*.ko.xz' -exec xz -d {} +
"$busybox" depmod -b "${modules%/lib/modules/*}" "${modules##*/}"
declare -A done=(); number=100
load() { # load PATH: relative to $modules, after what it depends on
  [ -z "${done[$1]:-}" ] || return 0
  local need
  done[$1]=1
  for need in $(sed -n "s|^$1: *||p" "$modules/modules.dep"); do load "$need"; done
  cp "$modules/$1" "$root/lib/modules/$((number++))-$(basename "$1")"
}
for name in "${wanted[@]}"; do
  path=$(sed -n "s|^\([^:]*/${name//_/[-_]}\.ko\):.*|\1|p" "$modules/modules.dep" | head -n 1)
  [ -n "$path" ] || die "the kernel has no module $name"
  load "$path"
done
(cd "$root" && find . -print0 | LC_ALL=C sort -z | cpio -o -0 -H newc -R 0:0 --quiet | gzip -9n) >"$work/initrd"

rm -f "$out/stamp"
mv "$work"/boot/vmlinuz-* "$out/vmlinuz"
mv "$work/initrd" "$out/initrd"
echo "$stamp" >"$out/stamp"
say "built $out/vmlinuz and $out/initrd"
