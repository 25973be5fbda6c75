#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Make ./configure.
cd "$(dirname "$0")" && mkdir -p config && exec autoreconf --install
