#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# As unplug.sh, but the card stays: its driver lets it go and takes it again, by sysfs.
PULL=driver_off PUT_BACK=driver_on
export VM_COUNT=${VM_COUNT:-20}
. "$(dirname "$0")/unplug.sh"
