# SPDX-License-Identifier: BSD-2-Clause
"""thread_offload.py OWN PEER PORT SLUICE DEVICE: which sockets are offloaded, when a program says that by libvma's
thread_offload() and add_conf_rule(). A reflector is at PEER PORT; somebody connects to OWN 8000 all the time."""
import ctypes
import subprocess
import threading
import time
from netlib import *

own, peer, port, sluice, device = sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:]
libc = ctypes.CDLL(None)
libc.pthread_self.restype = ctypes.c_ulong
table = ctypes.POINTER(ctypes.c_void_p)()
assert libc.getsockopt(-1, socket.SOL_SOCKET, 2800, ctypes.byref(table), ctypes.byref(ctypes.c_uint(8))) == 0
add_conf_rule = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(table[3])
thread_offload = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_ulong)(table[4])
rings_num = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(table[6])


def whose(s):
    return "ours" if rings_num(s.fileno()) > 0 else "the kernel's"


def used(s):
    """The socket, once the peer has answered it."""
    ask(s, (peer, port))
    return s


def connected():
    return socket.create_connection((peer, port + 1), TIMEOUT)


def in_thread(call):
    out = []
    t = threading.Thread(target=lambda: out.append(call()))
    t.start()
    t.join()
    return out[0]


def new(what, own_port=0):
    say(what, whose(used(udp(own, own_port))), whose(connected()))


old = used(udp(own))
listener = socket.create_server((own, 8000))
new("by the settings:")
assert thread_offload(0, libc.pthread_self()) == 0
new("this thread's are not offloaded:")
say("what was there:", whose(used(old)), whose(listener))
say("accepted by this thread from a listener of before:", whose(listener.accept()[0]))
say("another thread's:", in_thread(lambda: whose(used(udp(own)))))
assert thread_offload(1, libc.pthread_self()) == 0
new("this thread's are offloaded:")
say("another thread's:", in_thread(lambda: whose(used(udp(own)))))

there = [used(udp(own, 9001)), connected()]
witness = used(udp(own, 9500))
assert add_conf_rule(b"use os udp_receiver *:9001-9100") == 0 and add_conf_rule(b"use os tcp_client *:%d:*:*" % (port + 1)) == 0
new("by a rule that the program adds, whatever the thread says:", 9002)
say("what was there:", *map(whose, there))
# A rule of the device has the library judge all sockets anew.
subprocess.run([sluice, "rule", "add", "--device", device, "use", "os", "udp_receiver", "*:9500"], check=True, env={})
for _ in range(100):
    if whose(witness) != "ours":
        break
    time.sleep(0.1)
say("one that another rule is about:", whose(witness))
say("what was there:", *map(whose, there))
