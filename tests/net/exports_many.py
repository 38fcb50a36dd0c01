# SPDX-License-Identifier: BSD-2-Clause
"""exports_many.py OWN PEER PORT: a thousand sockets, each of which has an answer of the reflector at PEER PORT, one of them
paced; a listener, a group and an epoll set. Prints `ready`, then waits."""
import resource
import select
import signal
from netlib import *

own, peer, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
epoll = select.epoll()
many = []
for i in range(1000):
    many.append(udp(own, 10000 + i))
    many[i].connect((peer, port))
    epoll.register(many[i], select.EPOLLIN)
by_number = {s.fileno(): s for s in many}
missing = set(by_number)
for first in range(0, len(many), 50):
    for s in many[first:first + 50]:
        s.send(b"?")
    while not missing.isdisjoint(s.fileno() for s in many[first:first + 50]):
        for fd, _ in epoll.poll(TIMEOUT) or sys.exit("no answer"):
            by_number[fd].recv(2000)
            missing.discard(fd)
listener = socket.create_server((own, 10000))
group = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
group.bind(("239.7.7.7", 9000))
group.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.7.7.7") + socket.inet_aton(own))
many[0].setsockopt(socket.SOL_SOCKET, 47, 1000000)  # SO_MAX_PACING_RATE
say("ready")
signal.pause()
