/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of settings, printed: for the terminal, for the manual, for a dry run. */
#ifndef SL_SETTINGS_DOC_H
#define SL_SETTINGS_DOC_H

#include <stdio.h>

void sl_settings_doc_text(FILE *to);
/* sluice-settings(7), whole. */
void sl_settings_doc_man(FILE *to);
/* Each variable of ours that is set, NAME=value, a line. */
void sl_settings_doc_environment(FILE *to);

#endif
