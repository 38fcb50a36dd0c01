#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes the Debian package of what `make install` installed: the daemon's unit, policy and rules go to Debian's places.
#
# usage: build.sh TREE OUT      TREE: with the files in TREE/usr; is changed. OUT: directory for the package.
set -eu
export LC_ALL=C
TREE=$(realpath "$1")
OUT=$(realpath "$2")
cd "$(dirname "$0")/../.."
VERSION=$(sed -n 's/.*SLUICE_VERSION "\(.*\)"/\1/p' lib/sluice.h)
ARCH=$(dpkg --print-architecture)
DOC=$TREE/usr/share/doc/sluice
DEBIAN=$TREE/DEBIAN
umask 022
mkdir -p "$DEBIAN" "$DOC" "$TREE/etc/sluice" "$TREE/usr/lib/systemd/system"

sed 's,@PREFIX@,/usr,' conf/sluiced.service >"$TREE/usr/lib/systemd/system/sluiced.service"
rm -f "$TREE/usr/share/sluice/sluiced.service"
sed -i "s,^prefix=.*,prefix=/usr," "$TREE/usr/lib/pkgconfig/sluice.pc"
mv "$TREE/usr/share/sluice/sluice.conf" "$TREE/usr/share/sluice/sluiced.conf" "$TREE/etc/sluice/"
find "$TREE/usr/share/man" -type f -exec gzip -9n {} +
find "$TREE/usr/share/man" -type l -name '*[1-8]' | while read -r link; do
	ln -s "$(readlink "$link").gz" "$link.gz" && rm "$link"
done
install -m 644 README.md "$DOC/"
install -m 644 LICENSE "$DOC/copyright"
printf 'sluice (%s) unstable; urgency=medium\n\n  * Version %s.\n\n -- Sluice <root@localhost>  %s\n' "$VERSION" "$VERSION" \
	"$(date -uRd "@${SOURCE_DATE_EPOCH:-$(stat -c %Y lib/sluice.h)}")" | gzip -9n >"$DOC/changelog.gz"

programs=()
for file in "$TREE"/usr/bin/* "$TREE"/usr/lib/*.so*; do
	[ -L "$file" ] && continue
	strip --strip-unneeded --remove-section=.comment "$file"
	programs+=("$file")
done

# dpkg-shlibdeps reads debian/control where it runs, whatever that says.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/debian"
printf 'Source: sluice\n\nPackage: sluice\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O "${programs[@]}" | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ]
# Libraries that are loaded when they are needed: for a device, and for the filter of `sluice capture`.
for file in libbpf.so.1 libxdp.so.1 libpcap.so.0.8; do
	name=$(dpkg-query -S "*/$file" | sed 's/:.*//; q')
	depends="$depends, ${name:?no package has $file}"
done

sed -e "s/@VERSION@/$VERSION/; s/@ARCH@/$ARCH/; s/@DEPENDS@/$depends/" \
	-e "s/@SIZE@/$(du -sk --exclude=DEBIAN "$TREE" | cut -f 1)/" conf/deb/control >"$DEBIAN/control"
install -m 755 conf/deb/postinst conf/deb/prerm conf/deb/postrm "$DEBIAN/"
echo "activate-noawait ldconfig" >"$DEBIAN/triggers"
(cd "$TREE" && find etc -type f -printf '/%p\n' | sort >DEBIAN/conffiles)
(cd "$TREE" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
dpkg-deb --root-owner-group --build "$TREE" "$OUT/sluice_${VERSION}_$ARCH.deb"
