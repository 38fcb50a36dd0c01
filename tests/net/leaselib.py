# SPDX-License-Identifier: BSD-2-Clause
# For scripts that speak the daemon's protocol themselves (lib/ctl/lease/proto.h).
import os, re

MAGIC = 0x4C534C53
with open(os.path.join(os.path.dirname(__file__), "../../lib/ctl/lease/proto.h")) as f:
    VERSION = int(re.search(r"define SL_LEASE_VERSION (\d+)", f.read()).group(1))
with open(os.path.join(os.path.dirname(__file__), "../../lib/ctl/lease/lease.def")) as f:
    OPS = {name: i + 1 for i, name in enumerate(re.findall(r"^SL_LEASE\((\w+), \w+, ", f.read(), re.M))}
