# SPDX-License-Identifier: BSD-2-Clause
"""bulk.py ADDRESS PORT FILE: sends the file over TCP in long writes"""
import socket
import sys

data = open(sys.argv[3], "rb").read()
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.sendall(data)
s.shutdown(socket.SHUT_WR)
s.recv(1)
