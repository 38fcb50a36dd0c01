/* SPDX-License-Identifier: BSD-2-Clause */
/* The vault's packets, for both ends. */
#include "ctl/lease/vault.h"

#include <errno.h>
#include <stddef.h>

#include "base/rights.h"
#include "base/sys.h"

int sl_vault_send(int sock, const struct sl_vault_msg *m, int flags)
{
	long n = sl_rights_send(sock, m, sizeof(m->hdr) + m->bytes, m->fd, m->nfds, flags);

	return n < 0 ? (int)n : 0;
}

void sl_vault_close_fds(struct sl_vault_msg *m)
{
	while (m->nfds)
		if (m->fd[--m->nfds] >= 0)
			sl_sys_close(m->fd[m->nfds]);
}

static bool sound(const struct sl_vault_msg *m, long n)
{
	return n >= (long)sizeof(m->hdr) && m->hdr.magic == SL_VAULT_MAGIC &&
	       m->hdr.version == SL_VAULT_VERSION && m->hdr.kind < SL_KEEP_KINDS;
}

int sl_vault_recv(int sock, struct sl_vault_msg *m, int flags)
{
	struct sl_rights r = {.fd = m->fd, .max = SL_VAULT_FDS};
	long n = sl_rights_recv(sock, m, offsetof(struct sl_vault_msg, bytes), flags, &r);

	m->nfds = r.n;
	if (n <= 0) {
		sl_vault_close_fds(m);
		return (int)n;
	}
	if (r.truncated || !sound(m, n)) {
		sl_vault_close_fds(m);
		return -EPROTO;
	}
	m->bytes = (uint32_t)(n - (long)sizeof(m->hdr));
	return 1;
}
