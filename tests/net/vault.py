# SPDX-License-Identifier: BSD-2-Clause
# Speaks to sluiced's vault in the place of a daemon. Usage: vault.py SOCKET N
# Adds N to the version of the records (ctl/lease/vault.h, tools/sluiced/keep.h).
import array, os, socket, struct, sys

PUT, DEL, LIST, END, BUSY, BYE = range(1, 7)
META = 1
HDR = "=IHBBQ"
MAGIC = 0x41564C53
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.settimeout(10)
s.send(struct.pack(HDR, MAGIC, 1, LIST, 0, 0))
meta = None
while True:
    data, anc, _, _ = s.recvmsg(65536, 65536)
    for _, _, fds in anc:
        for fd in array.array("i", fds[: len(fds) // 4 * 4]):
            os.close(fd)
    assert data, "it hung up"
    _, _, op, kind, _ = struct.unpack_from(HDR, data)
    assert op in (PUT, END), op
    if op == END:
        break
    if kind == META:
        meta = bytearray(data)
at = struct.calcsize(HDR) + 12
struct.pack_into("=I", meta, at, struct.unpack_from("=I", meta, at)[0] + int(sys.argv[2]))
s.send(meta)
