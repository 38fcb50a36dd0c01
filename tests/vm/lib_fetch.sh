#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Brings what a guest needs into $VM_CACHE (see lib_boot.sh), from Debian's packages, without changing
# the machine: apt has a state directory of its own there, and packages are unpacked, not installed.
#
#   tests/vm/lib_fetch.sh qemu            QEMU, and the libraries of it that the machine lacks
#   tests/vm/lib_fetch.sh kernel NAME     5.10, 6.1, 6.12, 6.18 or newest
#
# Exits 77 and says why when something cannot be had. It does not fetch anything again.
set -u
VM_CACHE=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice-vm}
# Gives a mirror up after seconds if it does not answer, after two minutes if it stalls.
FETCH_SECONDS=${VM_FETCH_SECONDS:-120}

skip() {
	echo "skipped: $*"
	exit 77
}

# The mirror of the machine's own sources.
mirror() {
	local uri
	uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
		grep -v security | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
	echo "${uri:-http://deb.debian.org/debian/}"
}

# Makes a configuration of apt for these suites, sets APT to its file, and reads the suites' lists.
apt_of() { # name suites...
	local dir=$VM_CACHE/apt/$1 uri suite
	shift
	APT=$dir/apt.conf
	mkdir -p "$dir"/{etc/preferences.d,etc/apt.conf.d,etc/sources.list.d,state/lists/partial,cache/archives/partial}
	cp /var/lib/dpkg/status "$dir/state/status" || skip "this is no Debian"
	uri=$(mirror)
	for suite; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main"
	done >"$dir/etc/sources.list"
	cat >"$APT" <<-CONF
		Dir::Etc "$dir/etc";
		Dir::State "$dir/state";
		Dir::State::status "$dir/state/status";
		Dir::Cache "$dir/cache";
		APT::Architecture "amd64";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Acquire::Retries "1";
		Acquire::http::Timeout "10";
		Acquire::https::Timeout "10";
	CONF
	APT_CONFIG='' timeout -k 5 "$FETCH_SECONDS" apt-get -c "$APT" -qq \
		-o APT::Update::Error-Mode=any update >"$dir/log" 2>&1 ||
		skip "the package lists of $* cannot be had: $(grep -v '^$' "$dir/log" | tail -n 1)"
}

# Unpacks packages; the directory appears whole or not at all.
unpack() { # directory packages.deb...
	local dir=$1 deb
	shift
	rm -rf "$dir.part"
	mkdir -p "$dir.part"
	for deb; do
		dpkg-deb -x "$deb" "$dir.part" || skip "$deb does not unpack"
	done
}

qemu() {
	local dir=$VM_CACHE/qemu codename
	[ -e "$dir/.complete" ] && return
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	# (Debian 12's own QEMU has no igb.)
	apt_of qemu "$codename" "$codename-backports"
	timeout -k 5 "$FETCH_SECONDS" apt-get -c "$APT" -y -q --no-install-recommends --download-only \
		-t "$codename-backports" install qemu-system-x86 busybox-static kmod >"$VM_CACHE/apt/qemu/log" 2>&1 ||
		skip "QEMU's packages cannot be had: $(tail -n 1 "$VM_CACHE/apt/qemu/log")"
	unpack "$dir" "$VM_CACHE"/apt/qemu/cache/archives/*.deb
	rm -rf "$dir"
	mv "$dir.part" "$dir" && touch "$dir/.complete" && rm -rf "$VM_CACHE/apt/qemu"
}

kernel() { # name
	local dir=$VM_CACHE/kernel/$1 suites pattern image list p
	[ -e "$dir/.complete" ] && return
	case $1 in
	5.10) suites=bullseye pattern='5\.10\.0-[0-9]+' ;;
	6.1) suites=bookworm pattern='6\.1\.0-[0-9]+' ;;
	6.12) suites=trixie pattern='6\.12\.[^-]*' ;;
	6.18) suites=trixie-backports pattern='6\.18\.[^-]*' ;;
	newest) suites='trixie-backports sid' pattern='[0-9.]*[0-9][^-]*' ;;
	*) skip "lib_fetch.sh knows no kernel $1" ;;
	esac
	# shellcheck disable=SC2086
	apt_of "kernel-$1" $suites
	image=$(apt-cache -c "$APT" pkgnames linux-image- | grep -xE "linux-image-$pattern-amd64" |
		sort -V | tail -n 1)
	[ -n "$image" ] || skip "$suites has no kernel $1 any more"
	list=$image
	for p in base binary modules; do # 7.x: in several packages
		p=linux-$p-${image#linux-image-}
		[ -z "$(apt-cache -c "$APT" pkgnames "$p")" ] || list="$list $p"
	done
	# shellcheck disable=SC2086
	(cd "$VM_CACHE/apt/kernel-$1/cache" &&
		timeout -k 5 "$FETCH_SECONDS" apt-get -c "$APT" -qq download $list >../log 2>&1) ||
		skip "$image cannot be had: $(tail -n 1 "$VM_CACHE/apt/kernel-$1/log")"
	unpack "$dir" "$VM_CACHE/apt/kernel-$1"/cache/*.deb
	complete_kernel "$dir.part" "${image#linux-image-}" || skip "$image is not as expected"
	rm -rf "$dir"
	mv "$dir.part" "$dir" && touch "$dir/.complete" && rm -rf "$VM_CACHE/apt/kernel-$1"
}

# Puts a kernel's files into their places, whatever its packaging: release, vmlinuz, lib/modules/RELEASE with depmod's
# lists.
complete_kernel() { # directory release
	local modules image to=$1/lib/modules/$2
	image=$(find "$1" -type f \( -name "vmlinuz-$2" -o -path "*/modules/$2/vmlinuz" \) | head -n 1)
	[ -n "$image" ] && ln "$image" "$1/vmlinuz" && mkdir -p "$to" || return 1
	while read -r modules; do # 7.x: in two places
		[ "$modules" -ef "$to" ] || cp -al "$modules/." "$to/" || return 1
	done < <(find "$1" -type d -path "*/modules/$2")
	(exec -a depmod "$VM_CACHE"/qemu/bin/kmod -b "$1" "$2") || return 1
	echo "$2" >"$1/release"
	rm -rf "$1"/usr "$1"/boot
}

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || skip "this is no Debian"
mkdir -p "$VM_CACHE" || skip "$VM_CACHE cannot be made"
exec 9>"$VM_CACHE/lock"
flock -w "$FETCH_SECONDS" 9 || skip "another one is fetching"
case ${1:-} in
qemu) qemu ;;
kernel) qemu && kernel "${2:?}" ;;
*) sed -n '/^#   /s/^#   //p' "$0" && exit 2 ;;
esac
