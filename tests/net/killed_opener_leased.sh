#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# killed_opener.sh as a user without privileges: the daemon keeps the connection, and the child asks for it.
LEASED=1
. "$(dirname "$0")/killed_opener.sh"
