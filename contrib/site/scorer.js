/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Sphinx' own scores, but the name of an option, of an argument or of a variable comes first. */
var Scorer = {
    objNameMatch: 1000,
    objPartialMatch: 900,
    objPrio: { 0: 15, 1: 5, 2: -5 },
    objPrioDefault: 0,
    title: 15,
    partialTitle: 7,
    term: 5,
    partialTerm: 2,
};
