"""What the benchmarks share: a session of psql, words, and sentences."""
import json
import re
import subprocess
import sys
import time


class Session:
    """A psql that stays connected and says how long each statement took in the server."""

    def __init__(self):
        self.psql = subprocess.Popen(
            ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.run("set client_min_messages = warning")
        self.run("load 'vector'")
        self.clock = f"/proc/{self.run('select pg_backend_pid()')[0]}/schedstat"
        try:
            self.on_cpu = self.processor() > 0
        except OSError:
            self.on_cpu = False

    def run(self, statement):
        self.psql.stdin.write(f"{statement};\n\\echo -- done\n")
        self.psql.stdin.flush()
        lines = []
        while (line := self.psql.stdout.readline()) != "-- done\n":
            if not line:
                sys.exit("psql has ended")
            lines.append(line.rstrip("\n"))
        return lines

    def processor(self):
        """Nanoseconds the server's process has been running."""
        with open(self.clock, encoding="ascii") as file:
            return int(file.read().split()[0])

    def milliseconds(self, statement):
        """Of a statement that is prepared already: the whole way there and back, answer included."""
        begun = time.perf_counter()
        rows = self.run(statement)
        return (time.perf_counter() - begun) * 1000, len(rows)

    def cost(self, statement):
        """Milliseconds of the server's process, or of the clock."""
        if not self.on_cpu:
            return self.milliseconds(statement)[0]
        begun = self.processor()
        self.run(statement)
        # What the process does after its answer belongs to it.
        time.sleep(0.0003)
        return (self.processor() - begun) / 1e6


def word(rank):
    """The word of a rank: letters, so that stemming leaves it alone."""
    letters = ""
    rank += 17
    while rank:
        letters += "bdfgkmnprt"[rank % 10] + "aou"[rank % 3]
        rank //= 10
    return letters + "k"


def sentences(path):
    """The sentences of a file, of usual length."""
    def strings(value):
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, dict)):
            for member in value.values() if isinstance(value, dict) else value:
                yield from strings(member)

    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        texts = list(strings(json.loads(text)))
    except ValueError:
        texts = [text]
    found = (" ".join(part.split()) for text in texts for part in re.split(r"(?<=[.!?])\s", text))
    return sorted({part for part in found if 30 <= len(part) <= 300})
