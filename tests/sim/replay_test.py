# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a user has of a run in the simulator that goes wrong: its seed and
options, the same run again, its narration, and a record of what was said.

    replay_test.py FAILING SWARM SERVICE LNETDUMP
"""
import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

FAILING, SWARM, SERVICE, LNETDUMP = sys.argv[1:5]
# One with the faults of all seeds, one with those of odd ones.
SEEDS = ('4', '7')


def run(*command, **variables):
    env = {key: value for key, value in os.environ.items()
           if not key.startswith('M0_')}
    env.update(variables)
    return subprocess.run(command, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300,
                          preexec_fn=no_core)


def no_core():
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))



class Failures(unittest.TestCase):
    def test_says_seed_and_options_and_comes_again(self):
        """The seed that is printed is the run that failed, to the last line."""
        first = run(FAILING)
        self.assertEqual(first.returncode, -signal.SIGABRT, first.stdout)
        text = first.stdout.decode()
        seed = re.search(r'^M0_SEED=(\d+) to replay$', text, re.M)
        self.assertIsNotNone(seed, text)
        self.assertRegex(text, r'\d of a kind')
        self.assertRegex(text, r'step \d+ was one too many')
        self.assertNotEqual(seed[1], '1')
        again = run(FAILING, M0_SEED=seed[1])
        self.assertEqual(again.returncode, -signal.SIGABRT)
        self.assertEqual(again.stdout.decode(), text)
        other = run(FAILING, M0_SEED=str(int(seed[1]) - 1))
        self.assertEqual(other.returncode, 0, other.stdout)


class Runs(unittest.TestCase):
    def test_narration_is_the_same_in_another_process(self):
        """Nothing but the seed has a say: no address, no clock, no hash."""
        seen = set()
        for seed in SEEDS:
            told = [run(SWARM, M0_SEED=seed, M0_SIM_VERBOSE='1')
                    for _ in range(2)]
            for one in told:
                self.assertEqual(one.returncode, 0, one.stdout[-4000:])
                self.assertGreater(one.stdout.count(b'\n'), 1000)
            self.assertEqual(*[hashlib.sha256(one.stdout).hexdigest()
                               for one in told])
            seen.add(told[0].stdout)
        self.assertEqual(len(seen), len(SEEDS))

    def test_record_is_read_by_lnetdump(self):
        """Every byte that was written is there, as messages of LNet."""
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, 'run.pcap')
            for program in (SERVICE, SWARM):
                done = run(program, M0_SEED='7', M0_SIM_PCAP=path)
                self.assertEqual(done.returncode, 0, done.stdout[-4000:])
                table = run(sys.executable, LNETDUMP, '--count', path)
                self.assertEqual(table.returncode, 0, table.stdout)
                names, numbers = table.stdout.decode().splitlines()[:2]
                counts = dict(zip(names.split()[1:],
                                  map(int, numbers.split()[1:])))
                self.assertGreater(counts['streams'], 0)
                self.assertGreater(counts['hello3'] + counts['hello4'], 0)
                self.assertGreater(counts['put'], 100)
                lines = run(sys.executable, LNETDUMP, path)
                self.assertEqual(lines.returncode, 0, lines.stdout[-4000:])
                self.assertIn(b' connects to ', lines.stdout)
                self.assertRegex(lines.stdout, rb'PUT 10\.0\.0\.\d@tcp')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
