#!/usr/bin/env python3
"""What embedding costs: the worker beside the model's bare forward pass, writers beside the worker, memory, first queries.

    python3 benches/embedding.py [WHAT …]     of: throughput writers latency memory first; all unless said

It needs a release build and a server of its own on this machine that PGHOST, PGUSER … name as a superuser, with the library
preloaded: it changes me.worker and me.worker_idle there, and makes and drops the database embedding_bench. Ratios are of rounds
that alternate, by their medians. Where something else runs meanwhile, look at processor time, which is that of one process.
"""
import os
import random
import statistics
import subprocess
import sys
import time

DATABASE = "embedding_bench"
WORDS = [f"{a}{b}" for a in "lo mi ter gra pon sel va dun kir ash".split() for b in "ber ton mel rick sap dol wen fa net".split()]
ROUNDS = 5


class Session:
    """A psql that stays connected."""

    def __init__(self, database=DATABASE):
        self.psql = subprocess.Popen(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", database],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.run("set client_min_messages = warning")
        self.pid = int(self.run("select pg_backend_pid()")[0])

    def run(self, statement):
        self.psql.stdin.write(f"{statement};\n\\echo -- done\n")
        self.psql.stdin.flush()
        lines = []
        while (line := self.psql.stdout.readline()) != "-- done\n":
            if not line:
                sys.exit("psql has ended")
            lines.append(line.rstrip("\n"))
        return lines

    def seconds(self, statement):
        began = time.perf_counter()
        self.run(statement)
        return time.perf_counter() - began

    def cost(self, statement):
        """Seconds of a statement, and of the processor for it."""
        used, began = cpu(self.pid), time.perf_counter()
        self.run(statement)
        return time.perf_counter() - began, cpu(self.pid) - used

    def close(self):
        self.psql.stdin.close()
        self.psql.wait()


def cpu(pid):
    """Seconds that a process was on a processor."""
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e9


def worker(session):
    """The process of the worker, once it is there."""
    while True:
        found = session.run(f"select pid from pg_stat_activity where backend_type = 'memory_engine worker' and datname = '{DATABASE}'")
        if found:
            return int(found[0])
        time.sleep(0.01)


def texts(count, words, seed):
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=words)) + f" {seed} {n}" for n in range(count)]


def configure(session, **settings):
    for name, value in settings.items():
        session.run(f"alter system set me.{name} = '{value}'")
    session.run("select pg_reload_conf()")
    time.sleep(0.5)


def write(session, contents, space="default"):
    for at in range(0, len(contents), 500):
        values = ",".join(f"('{text}')" for text in contents[at:at + 500])
        session.run("select 1 from me.memory_batch_create((select jsonb_agg(jsonb_build_object('content', t, 'tree', 'share')) "
                    f"from (values {values}) as v (t)), space => '{space}')")


def pending(session, space="default"):
    return int(session.run(f"select me.embedding_status(space => '{space}')->>'pending'")[0])


def drain(session, space="default"):
    while pending(session, space):
        time.sleep(0.05)


def space(session, name, model):
    session.run(f"select me.space_create('{name}')")
    session.run(f"select me.embedding_model_use('{model}', space => '{name}')")


def throughput(session):
    """Texts a second of the worker, and of me.embed() over the same texts in a loop in one session."""
    for words in (60, 12):
        rates = {"worker": [], "loop": []}
        times = {"worker": [], "loop": []}
        count = 320 if words == 12 else 96
        for round_ in range(ROUNDS):
            name = f"through{words}-{round_}"
            space(session, name, "minilm")
            contents = texts(count, words, 100 + round_)
            configure(session, worker="off")
            write(session, contents, name)
            values = ",".join(f"('{text}')" for text in contents)
            session.run(f"select me.embed('warm', space => '{name}')")
            took, used = session.cost(f"select count(me.embed(v.t, space => '{name}')) from (values {values}) as v (t)")
            rates["loop"].append(count / took)
            times["loop"].append(used / count)
            session.run("alter system set me.worker = on")
            session.run("select pg_reload_conf()")
            while pending(session, name) == count:
                time.sleep(0.002)
            # The clock starts when the first batch is stored: starting the process is not what is measured.
            pid = worker(session)
            left, used, began = pending(session, name), cpu(pid), time.perf_counter()
            while pending(session, name):
                time.sleep(0.01)
            rates["worker"].append(left / (time.perf_counter() - began))
            times["worker"].append((cpu(pid) - used) / left)
        middle = {what: (statistics.median(rates[what]), 1000 * statistics.median(times[what])) for what in rates}
        for what in rates:
            report(f"{words} words, {what}: texts a second", middle[what][0])
            report(f"{words} words, {what}: processor ms a text", middle[what][1])
        report(f"{words} words: ratio of the rates", middle["worker"][0] / middle["loop"][0])
        report(f"{words} words: ratio by processor time", middle["loop"][1] / middle["worker"][1])


def writers(session):
    """Creates a second by one client while the worker embeds with all-MiniLM-L6-v2, and while it does not."""
    writer = Session()
    rates, times = {True: [], False: []}, {True: [], False: []}
    space(session, "quiet", "mine")
    for round_ in range(ROUNDS):
        for busy in (False, True):
            if busy:
                name = f"busy{round_}"
                space(session, name, "minilm")
                configure(session, worker="off")
                write(session, texts(600, 60, 200 + round_), name)
                configure(session, worker="on")
                while pending(session, name) == 600:
                    time.sleep(0.01)
            done, used, began = 0, cpu(writer.pid), time.perf_counter()
            while time.perf_counter() - began < 3:
                writer.run(f"select 1 from me.memory_create('written {round_} {done}', 'share', space => 'quiet')")
                done += 1
            rates[busy].append(done / (time.perf_counter() - began))
            times[busy].append((cpu(writer.pid) - used) / done)
            if busy:
                if not pending(session, name):
                    print("the worker was not busy for as long as the writer wrote")
                session.run(f"select me.space_drop('{name}')")
    for busy in (False, True):
        state = "busy" if busy else "idle"
        report(f"creates a second, worker {state}", statistics.median(rates[busy]))
        report(f"processor µs a create, worker {state}", 1e6 * statistics.median(times[busy]))
    report("ratio of the rates", statistics.median(rates[True]) / statistics.median(rates[False]))
    report("ratio by processor time", statistics.median(times[False]) / statistics.median(times[True]))
    report("processors", os.cpu_count())
    writer.close()


def latency(session):
    """From commit to being found by meaning, at ten writes a second, with all-MiniLM-L6-v2."""
    space(session, "quick", "minilm")
    session.run("select 1 from me.memory_create('first', 'share', space => 'quick')")
    drain(session, "quick")
    took, used = [], cpu(worker(session))
    for number, text in enumerate(texts(100, 12, 300)):
        began = time.perf_counter()
        session.run(f"select 1 from me.memory_create('{text}', 'share', name => 'n{number}', space => 'quick')")
        committed = time.perf_counter()
        while session.run(f"select has_embedding from me.memories where space = 'quick' and name = 'n{number}'") != ["t"]:
            time.sleep(0.002)
        took.append(time.perf_counter() - committed)
        time.sleep(max(0, 0.1 - (time.perf_counter() - began)))
    used = cpu(worker(session)) - used
    took.sort()
    report("commit to searchable, median ms", 1000 * took[49])
    report("commit to searchable, 95 % ms", 1000 * took[94])
    report("the worker's processor ms a memory", 1000 * used / 100)


def resident(session):
    with open(f"/proc/{worker(session)}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["RssAnon"].split()[0]) / 1024


def memory(session):
    """The worker's own memory after many texts, beside after a tenth of them. It stays connected meanwhile."""
    configure(session, worker="on", worker_idle="1h")
    for model, few, words in (("static", 5000, 30), ("minilm", 200, 60)):
        name = f"memory-{model}"
        space(session, name, model)
        write(session, texts(few, words, 400), name)
        drain(session, name)
        small = resident(session)
        write(session, texts(9 * few, words, 401), name)
        drain(session, name)
        large = resident(session)
        report(f"{model}: MiB after {few}", small)
        report(f"{model}: MiB after {10 * few}", large)
        report(f"{model}: ratio", large / small)
    configure(session, worker_idle="3s")


def first(session):
    """The first and the second search by meaning of new sessions."""
    space(session, "small", "minilm")
    write(session, texts(50, 12, 500), "small")
    drain(session, "small")
    ask = "select count(*) from me.search(semantic => 'who keeps the keys', space => 'small')"
    costs = []
    for _ in range(25):
        fresh = Session()
        # What a session reads of the catalogue is not what is measured.
        fresh.run("select count(*) from me.search(fulltext => 'keys', space => 'small')")
        costs.append([1000 * value for value in (*fresh.cost(ask), *fresh.cost(ask))])
        fresh.close()
    first_took, first_used, second_took, second_used = map(statistics.median, zip(*costs))
    report("first search by meaning, ms", first_took)
    report("second, ms", second_took)
    report("more by, ms", first_took - second_took)
    report("first, processor ms", first_used)
    report("second, processor ms", second_used)
    report("more by, processor ms", first_used - second_used)


def report(what, value):
    print(f"{what:45} {value:10.2f}", flush=True)


def main():
    steps = {step.__name__: step for step in (throughput, writers, latency, memory, first)}
    wanted = sys.argv[1:] or list(steps)
    admin = Session("postgres")
    admin.run(f"drop database if exists {DATABASE} with (force)")
    admin.run(f"create database {DATABASE}")
    session = Session()
    session.run("create extension memory_engine cascade")
    session.run("select me.embedding_model_add('minilm', 'local', 384)")
    session.run("""select me.embedding_model_add('static', 'local', 256, '{"path": "wordllama-256"}')""")
    session.run("select me.embedding_model_add('mine', 'manual', 2)")
    session.run("select me.memory_create('founded', 'share')")
    for name in wanted:
        print(f"# {name}: {steps[name].__doc__}")
        steps[name](session)
    for name in ("worker", "worker_idle"):
        session.run(f"alter system reset me.{name}")
    session.run("select pg_reload_conf()")
    session.close()
    admin.run(f"drop database {DATABASE} with (force)")
    admin.close()


main()
