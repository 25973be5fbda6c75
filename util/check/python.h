/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The TensorFlow of a Python, on request. It is the only thing for which tf-check starts a
 * program.
 */
#ifndef TF_PYTHON_H
#define TF_PYTHON_H

#include "findings.h"

/* `python` is a program, as a path or to be found in PATH. It does not import TensorFlow. */
void python_check (const char *python, struct findings *findings);

#endif
