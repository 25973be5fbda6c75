#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Make ./configure from a git checkout.
cd "$(dirname "$0")" && mkdir -p config && exec autoreconf --install
