/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the table of settings: for the terminal, for the manual, for a dry run. */
#ifndef SL_SETTINGS_DOC_H
#define SL_SETTINGS_DOC_H

#include <stdio.h>

void sl_settings_doc_text(FILE *to);
/* All of sluice-settings(7). */
void sl_settings_doc_man(FILE *to);
/* Each of Sluice's variables that is set, as NAME=value, one a line. */
void sl_settings_doc_environment(FILE *to);

#endif
