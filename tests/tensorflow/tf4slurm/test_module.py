# SPDX-License-Identifier: GPL-2.0-or-later
#
# The module tf4slurm as far as it goes without TensorFlow, which is a few lines here:
#
#     PYTHONPATH=contrib/python python3 -m unittest test_module

import inspect
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

CALL = "from tf4slurm import ServerDictionary; print(*ServerDictionary.GetServerDictionary({!r}))"


def step(*tasks):
    """Of a step with these tasks, each task's environment, as srun --tf-tasks makes it."""
    cluster = {}
    for rank, role in enumerate(tasks):
        cluster.setdefault(role, []).append("10.0.0.%d:4000%d" % (rank, rank))
    evaluator = {role: cluster.pop(role) for role in ["evaluator"] if role in cluster}
    environments = []
    for rank, role in enumerate(tasks):
        task = {"type": role, "index": tasks[:rank].count(role)}
        own = dict(cluster, **evaluator) if role == "evaluator" else cluster
        environments.append({"TF_CONFIG": json.dumps({"cluster": own, "task": task}), "SLURM_PROCID": str(rank)})
    # Without a ps, the evaluator is numbered after the others.
    if evaluator and "ps" not in tasks:
        numbers = [rank for rank, role in enumerate(tasks) if role != "evaluator"] + [tasks.index("evaluator")]
        for number, rank in enumerate(numbers):
            if number != rank:
                environments[rank].update(SLURM_PROCID=str(number), SPANK_TF_FORMER_SLURM_PROCID=str(rank))
    return environments


def run_python(*args, environment=None, cwd=None):
    """Python with these arguments, in this environment only: status, stdout, stderr."""
    environment = dict(environment or {}, PYTHONDONTWRITEBYTECODE="1")
    environment.setdefault("PYTHONPATH", os.environ["PYTHONPATH"])
    done = subprocess.run([sys.executable, *args], env=environment, cwd=cwd, text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


class Dictionary(unittest.TestCase):
    def dictionaries(self, *tasks, given=None, **arguments):
        from tf4slurm.ServerDictionary import GetServerDictionary

        for environment in step(*tasks):
            with mock.patch.dict(os.environ, environment):
                yield GetServerDictionary(given or list(tasks), **arguments)

    def test_every_task_gets_the_cluster_and_its_place(self):
        cluster = {"ps": ["10.0.0.0:40000"], "worker": ["10.0.0.1:40001", "10.0.0.2:40002"]}
        self.assertEqual(list(self.dictionaries("ps", "worker", "worker")),
                         [(cluster, "ps", 0), (cluster, "worker", 0), (cluster, "worker", 1)])

    def test_roles_in_any_order(self):
        tasks = "worker", "ps", "worker", "ps", "worker"
        places = [(role, index) for _, role, index in self.dictionaries(*tasks)]
        self.assertEqual(places, [("worker", 0), ("ps", 0), ("worker", 1), ("ps", 1), ("worker", 2)])

    def test_both_keys_are_there_without_a_ps(self):
        for dictionary, _, _ in self.dictionaries("worker", "worker"):
            self.assertEqual(dictionary, {"ps": [], "worker": ["10.0.0.0:40000", "10.0.0.1:40001"]})

    def test_other_roles_are_there_beside_them(self):
        self.assertEqual([(sorted(dictionary), role, index) for dictionary, role, index in
                          self.dictionaries("chief", "ps", "worker", "evaluator")],
                         [(["chief", "ps", "worker"], "chief", 0), (["chief", "ps", "worker"], "ps", 0),
                          (["chief", "ps", "worker"], "worker", 0),
                          (["chief", "evaluator", "ps", "worker"], "evaluator", 0)])

    def test_a_number_that_is_not_the_place_in_the_list(self):
        places = [(role, index) for _, role, index in self.dictionaries("evaluator", "worker", "worker")]
        self.assertEqual(places, [("evaluator", 0), ("worker", 0), ("worker", 1)])

    def test_any_kind_of_list_will_do(self):
        self.assertEqual(len(list(self.dictionaries("ps", "worker", given=("ps", "worker")))), 2)

    def test_the_index_is_a_number(self):
        self.assertTrue(all(type(index) is int for _, _, index in self.dictionaries("ps", "worker")))

    def test_the_network_is_said_to_srun(self):
        plain = list(self.dictionaries("ps", "worker"))
        for arguments in {"InfinyBand": True}, {"InfinyBand": False}, {"InfiniBand": True}, {"InfiniBand": False}:
            self.assertEqual(list(self.dictionaries("ps", "worker", **arguments)), plain)

    def test_the_signature(self):
        from tf4slurm.ServerDictionary import GetServerDictionary

        names = list(inspect.signature(GetServerDictionary).parameters)
        self.assertEqual(names, ["TensorFlowServerTasks", "InfinyBand", "InfiniBand"])
        self.assertIs(inspect.signature(GetServerDictionary).parameters["InfinyBand"].default, True)

    def test_outside_of_slurm(self):
        # As where the user runs it by hand, with TF_CONFIG alone.
        environment = step("ps", "worker")[1]
        del environment["SLURM_PROCID"]
        status, output, errors = run_python("-c", CALL.format(["ps", "worker"]), environment=environment)
        self.assertEqual((status, output.split()[-2:], errors), (0, ["worker", "0"], ""))


class Refusals(unittest.TestCase):
    def refused(self, line, tasks, environment):
        result = run_python("-c", CALL.format(tasks), environment=environment)
        self.assertEqual(result, (1, "", "tf4slurm: " + line + "\n"))

    def test_a_run_without_tf_tasks(self):
        line = "this is not a task of srun --tf-tasks (TF_CONFIG is not set); srun -n3 --tf-tasks=ps,worker:2 would fit"
        self.refused(line, ["ps", "worker", "worker"], {})
        self.refused(line, ["ps", "worker", "worker"], {"TF_CONFIG": ""})
        self.refused(line, ["ps", "worker", "worker"], {"SLURM_PROCID": "1", "SLURM_NTASKS": "3"})

    def test_a_foreign_tf_config(self):
        for text in "ps,worker", "[]", "null", "{}", '{"cluster":{}}', '{"cluster":{},"task":{"type":"ps","index":null}}', \
                '{"cluster":[],"task":{"type":"ps","index":0}}', '{"cluster":{"ps":["a:1"]},"task":{"type":"ps","index":1}}', \
                '{"cluster":{"ps":["a:1"]},"task":{"type":"worker","index":0}}':
            self.refused("TF_CONFIG is not what srun --tf-tasks sets; srun -n2 --tf-tasks=ps,worker would fit",
                         ["ps", "worker"], {"TF_CONFIG": text, "SLURM_PROCID": "0"})

    def test_another_number_of_tasks(self):
        for environment in step("ps", "worker", "worker"):
            self.refused("the script lists 4 tasks (ps, worker:3), the step has 3 tasks (ps, worker:2); "
                         "srun -n4 --tf-tasks=ps,worker:3 would fit", ["ps", "worker", "worker", "worker"], environment)

    def test_a_shorter_list(self):
        for environment in step("ps", "worker", "worker"):
            self.refused("the script lists 2 tasks (ps, worker), the step has 3 tasks (ps, worker:2); "
                         "srun -n2 --tf-tasks=ps,worker would fit", ["ps", "worker"], environment)

    def test_no_list(self):
        self.refused("the script lists no tasks", [], step("ps", "worker")[0])

    def test_other_roles(self):
        for environment in step("ps", "ps", "worker"):
            self.refused("the script lists 3 tasks (ps, worker:2), the step has 3 tasks (ps:2, worker); "
                         "srun -n3 --tf-tasks=ps,worker:2 would fit", ["ps", "worker", "worker"], environment)

    def test_another_order(self):
        environments = step("ps", "worker", "worker")
        fitting = "; srun -n3 --tf-tasks=worker,ps,worker would fit"
        self.refused("rank 0 is worker 0 in the script's list and ps 0 in the step" + fitting,
                     ["worker", "ps", "worker"], environments[0])
        self.refused("rank 1 is ps 0 in the script's list and worker 0 in the step" + fitting,
                     ["worker", "ps", "worker"], environments[1])
        status, _, errors = run_python("-c", CALL.format(["worker", "ps", "worker"]), environment=environments[2])
        self.assertEqual((status, errors), (0, ""))

    def test_an_evaluator_that_the_script_does_not_list(self):
        self.refused("rank 2 is not a task in the script's list and evaluator 0 in the step; "
                     "srun -n2 --tf-tasks=ps,worker would fit",
                     ["ps", "worker"], step("ps", "worker", "evaluator")[2])


class Names(unittest.TestCase):
    def test_every_way_to_import_them(self):
        environment = step("ps", "worker")[0]
        for package in "tf4slurm", "tf_for_slurm":
            for line in ("import {0}.ServerDictionary as S", "from {0} import ServerDictionary as S",
                         "import {0}; S = {0}.ServerDictionary", "import {0}.ServerDictionary; S = {0}.ServerDictionary",
                         "import importlib; S = importlib.import_module('{0}.ServerDictionary')"):
                code = line.format(package) + "; print(S.GetServerDictionary(['ps', 'worker'])[1:])"
                self.assertEqual(run_python("-c", code, environment=environment), (0, "('ps', 0)\n", ""), line)

    def test_a_name_that_is_not_there(self):
        for package in "tf4slurm", "tf_for_slurm":
            status, _, errors = run_python("-c", "import {0}; {0}.Nothing".format(package))
            self.assertEqual((status, errors.split("\n")[-2]), (1, "AttributeError: module 'tf4slurm' has no attribute 'Nothing'"))

    def test_tensorflow_is_not_needed_for_the_dictionary(self):
        code = "import sys, tf4slurm; tf4slurm.ServerDictionary; print('tensorflow' in sys.modules)"
        self.assertEqual(run_python("-c", code), (0, "False\n", ""))


class Runner(unittest.TestCase):
    """python -m tf4slurm, on a TensorFlow that is nothing but its modules' names."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = os.path.realpath(directory.name)
        # Beside TensorFlow, as Keras is.
        self.write("site-packages/installed.py", "import tensorflow as tf\n")

    def write(self, path, text):
        path = os.path.join(self.directory, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(textwrap.dedent(text))

    def tensorflow(self, version):
        self.write("site-packages/tensorflow/__init__.py",
                   "name, __version__ = 'itself', '%s'\nfrom tensorflow import compat, python\n" % version)
        self.write("site-packages/tensorflow/python/__init__.py", "from tensorflow.python import ops\n")
        self.write("site-packages/tensorflow/python/ops.py", "name = 'ops'\n")
        if version.startswith("1."):
            self.write("site-packages/tensorflow/compat/__init__.py", "")
            return
        self.write("site-packages/tensorflow/compat/__init__.py", "from tensorflow.compat import v1\n")
        self.write("site-packages/tensorflow/compat/v1/__init__.py", """\
            from tensorflow.compat.v1 import logging
            name, switched = 'compat.v1', False
            def disable_v2_behavior():
                global switched
                logging.warned = logging.verbosity < logging.ERROR
                switched = True
            """)
        self.write("site-packages/tensorflow/compat/v1/logging.py", """\
            ERROR, verbosity = 40, 30
            def get_verbosity():
                return verbosity
            def set_verbosity(value):
                global verbosity
                verbosity = value
            """)

    def run_script(self, text, *args, **options):
        self.write("scripts/script.py", text)
        return self.run_module(os.path.join("scripts", "script.py"), *args, **options)

    def run_module(self, *args, **options):
        path = os.pathsep.join([os.environ["PYTHONPATH"], os.path.join(self.directory, "site-packages")])
        return run_python("-m", options.pop("module", "tf4slurm"), *args, cwd=self.directory,
                          environment=dict(options, PYTHONPATH=path))

    def test_the_script_and_its_modules_get_tensorflow_1(self):
        self.tensorflow("2.15.1")
        self.write("scripts/mine.py", "import tensorflow as tf\n")
        result = self.run_script("""\
            import tensorflow as tf, mine, installed
            from tensorflow import name
            print(tf.name, tf.switched, mine.tf.name, name, installed.tf.name)
            """)
        self.assertEqual(result, (0, "compat.v1 True compat.v1 compat.v1 itself\n", ""))

    def test_code_without_a_file_gets_tensorflow_1(self):
        self.tensorflow("2.15.1")
        self.assertEqual(self.run_script("exec('import tensorflow as tf; print(tf.name)', {})"), (0, "compat.v1\n", ""))

    def test_modules_of_tensorflow_are_what_they_are(self):
        self.tensorflow("2.15.1")
        result = self.run_script("""\
            import tensorflow.python.ops as ops, tensorflow.compat.v1 as v1
            from tensorflow.python.ops import name
            from tensorflow.compat import v1 as same
            import tensorflow as tf
            print(ops.name, name, v1 is tf, same is tf)
            """)
        self.assertEqual(result, (0, "ops ops True True\n", ""))

    def test_a_module_that_is_not_there(self):
        self.tensorflow("2.15.1")
        status, _, errors = self.run_script("import tensorflow.contrib.slim as slim\n")
        self.assertEqual((status, errors.split("\n")[-2]),
                         (1, "ModuleNotFoundError: No module named 'tensorflow.contrib'"))

    def test_the_switch_is_not_warned_of(self):
        self.tensorflow("2.15.1")
        result = self.run_script("import tensorflow as tf; print(tf.logging.warned, tf.logging.verbosity)")
        self.assertEqual(result, (0, "False 30\n", ""))

    def test_tensorflow_1_is_left_as_it_is(self):
        self.tensorflow("1.15.5")
        self.assertEqual(self.run_script("import tensorflow as tf; print(tf.name)"), (0, "itself\n", ""))

    def test_the_script_is_the_main_program(self):
        self.tensorflow("2.15.1")
        for module in "tf4slurm", "tf_for_slurm":
            result = self.run_script("""\
                import sys
                print(__name__, __file__, sys.argv, sys.path[0], sys.modules["__main__"].__dict__ is globals())
                """, "-ps", "1", "--", "-m", module=module)
            script = os.path.join("scripts", "script.py")
            self.assertEqual(result, (0, "__main__ %s %s %s True\n" % (
                script, [script, "-ps", "1", "--", "-m"], os.path.join(self.directory, "scripts")), ""))

    def test_python_looks_nowhere_first_when_it_was_told_so(self):
        self.tensorflow("2.15.1")
        result = self.run_script("import sys, tf4slurm; print(sys.path[0])", PYTHONSAFEPATH="1")
        if not hasattr(sys.flags, "safe_path"):
            self.skipTest("this Python does not know PYTHONSAFEPATH")
        self.assertEqual(result, (0, os.path.abspath(os.environ["PYTHONPATH"].split(os.pathsep)[0]) + "\n", ""))

    def test_its_end_is_the_script_s(self):
        self.tensorflow("2.15.1")
        self.assertEqual(self.run_script("import sys; sys.exit(7)"), (7, "", ""))
        self.assertEqual(self.run_script("import sys; sys.exit('no')"), (1, "", "no\n"))
        status, _, errors = self.run_script("1 / 0")
        self.assertEqual((status, errors.split("\n")[-2]), (1, "ZeroDivisionError: division by zero"))

    def test_refusals_have_no_traceback(self):
        self.tensorflow("2.15.1")
        result = self.run_script("from tf4slurm import ServerDictionary as S; S.GetServerDictionary(['ps', 'worker'])")
        self.assertEqual(result, (1, "", "tf4slurm: this is not a task of srun --tf-tasks (TF_CONFIG is not set); "
                                  "srun -n2 --tf-tasks=ps,worker would fit\n"))

    def test_how_it_is_called(self):
        status, output, errors = self.run_module("--help")
        self.assertEqual((status, output.split("\n")[0], errors), (0, "usage: python -m tf4slurm SCRIPT [ARGS...]", ""))
        for arguments in [], ["-x"], ["-ps", "1"]:
            status, output, errors = self.run_module(*arguments)
            self.assertEqual((status, output, errors.split("\n")[0]), (2, "", "usage: python -m tf4slurm SCRIPT [ARGS...]"))
        self.assertEqual(self.run_module("nothing.py"), (1, "", "tf4slurm: nothing.py: no such script\n"))

    def test_a_python_without_tensorflow(self):
        result = self.run_script("")
        self.assertEqual(result, (1, "", "tf4slurm: %s has no TensorFlow (No module named 'tensorflow')\n" % sys.executable))


if __name__ == "__main__":
    unittest.main()
