# SPDX-License-Identifier: BSD-2-Clause
"""Has a device its link when bind(2) of a program's first socket returns?

bind.py ADDRESS DEVICE blocking|nonblocking    prints "link" or "none"
"""
import os
import socket
import subprocess
import sys

address, device, how = sys.argv[1:]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setblocking(how == "blocking")
s.bind((address, 7000))
# (IFF_LOWER_UP says it at once, the state of operation up to a second later.)
said = subprocess.run(["ip", "-o", "link", "show", "dev", device], capture_output=True, text=True, check=True,
                      env={"PATH": os.environ["PATH"]}).stdout
print("link" if "LOWER_UP" in said else "none")
