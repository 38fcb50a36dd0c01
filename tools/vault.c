/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice vault: sluiced's helper process (lib/ctl/lease/vault.h); not for users. */
#include <stdio.h>

#include "ctl/lease/vault.h"
#include "tools.h"

int sl_tool_vault(int argc, char **argv)
{
	if (argc == 1)
		return sl_vault_run();
	fprintf(stderr, "sluice vault is started by sluiced\n");
	return 2;
}
