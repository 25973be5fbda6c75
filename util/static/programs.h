/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The main functions of the programs, as the Makefile of this folder names them.
 */
#ifndef TF_PROGRAMS_H
#define TF_PROGRAMS_H

int tf_abandoned_main (int argc, char *argv[]);
int tf_check_main (int argc, char *argv[]);
int tf_exec_main (int argc, char *argv[]);
int tf_rendezvous_main (int argc, char *argv[]);
int tf_run_main (int argc, char *argv[]);
int tf_status_main (int argc, char *argv[]);
int tf_supervise_main (int argc, char *argv[]);

#endif
