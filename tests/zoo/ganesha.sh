#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# nfs-ganesha: NFS 4 over TCP. Its calls are records, which come in pieces and several at once; answers leave by writev(2)
# from threads of its own.
. "$(dirname "$0")/lib.sh"
need ganesha.nfsd python3
[ -z "${LEASED:-}" ] || skip "it is root's"
net_up
files 10 70000 900000
cat >"$TMP/ganesha.conf" <<END
NFS_CORE_PARAM { NFS_Protocols = 4; Bind_addr = $B4; NFS_Port = 2049; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; }
NFSv4 { Graceless = true; RecoveryBackend = fs; RecoveryRoot = $TMP/recovery; }
EXPORT { Export_Id = 1; Path = $TMP/www; Pseudo = /w; Access_Type = RO; Squash = None; SecType = sys; FSAL { Name = VFS; } }
LOG { Default_Log_Level = CRIT; }
END
server() {
	mkdir -p /var/run/ganesha "$TMP/recovery"
	bg pb ganesha.nfsd -F -f "$TMP/ganesha.conf" -L /dev/stderr -p "$TMP/ganesha.pid"
}
talk() {
	python3 - "$B4" <<-'END'
		import hashlib, socket, struct, sys
		s = socket.create_connection((sys.argv[1], 2049), timeout=20)
		f = s.makefile("rb")
		def name(text):
		    return struct.pack("!II", 15, len(text)) + text + bytes(-len(text) % 4)
		def call(xid, operations):
		    body = struct.pack("!III", 0, 0, len(operations)) + b"".join(operations)
		    who = struct.pack("!IIIII", 0, 0, 0, 0, 0)
		    m = struct.pack("!6I", xid, 0, 2, 100003, 4, 1) + struct.pack("!II", 1, len(who)) + who + bytes(8) + body
		    return struct.pack("!I", 1 << 31 | len(m)) + m
		def answer():
		    return f.read(struct.unpack("!I", f.read(4))[0] & 0x7fffffff)
		root = struct.pack("!I", 24)
		def read(xid, file, at, count):
		    return call(xid, [root, name(b"w"), name(file), struct.pack("!I16xQI", 25, at, count)])
		for piece in 1, 5, 60: # a call in pieces
		    m = read(1, b"10", 0, 10)
		    for at in range(0, len(m), piece):
		        s.sendall(m[at:at + piece])
		    got = answer()
		    print(got[24:28].hex(), hashlib.md5(got[-12:-2]).hexdigest())
		for file, size in (b"70000", 70000), (b"900000", 900000): # many calls at once
		    count = 10000
		    s.sendall(b"".join(read(1 + at, file, at, count) for at in range(0, size, count)))
		    parts = {}
		    for _ in range(0, size, count):
		        got = answer()
		        parts[struct.unpack("!I", got[:4])[0]] = got[-count:]
		    print(hashlib.md5(b"".join(parts[k] for k in sorted(parts))).hexdigest())
	END
	md5sum <"$TMP/www/70000"
	md5sum <"$TMP/www/900000"
}
after() {
	[ "$MODE" != kernel ] || ok "the files are as on the disk" test "$(tail -n 4 <<<"${ORACLE[ganesha]}" | cut -c1-32 | sort -u | wc -l)" = 2
}
zoo ganesha 2049
done_testing
