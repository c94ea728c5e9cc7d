"""What a tool call through memory-engine-mcp takes longer than the same SQL by a client that is connected already.

    python3 benches/mcp.py PROGRAM [ROUNDS]        PGHOST, PGPORT and PGUSER name a server with the extension

Both sides run the same statement for the same tool with the same arguments, in turns, one call each; what counts is the
difference of the medians. `scripts/bench mcp` prepares all that.
"""

import json
import os
import statistics
import subprocess
import sys
import time
import urllib.parse

import psycopg

CALL = """with answer as materialized (select me.mcp_call(%s::text, %s::text::jsonb) as value)
          select me.format(value, 'json'), case when %s::text is not null then me.format(value, %s::text) end from answer"""

program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000
host, port, role = (os.environ[name] for name in ("PGHOST", "PGPORT", "PGUSER"))
url = f"postgres://{role}@{urllib.parse.quote(host, safe='')}:{port}/{os.environ.get('PGDATABASE', role)}"

connection = psycopg.connect(url, autocommit=True, prepare_threshold=0)
server = subprocess.Popen(
    [program], env={**os.environ, "MEMORY_ENGINE_URL": url}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
)
answers = server.stdout
buffer = b""


def read_line():
    global buffer
    while b"\n" not in buffer:
        buffer += os.read(answers.fileno(), 1 << 20)
    line, _, buffer = buffer.partition(b"\n")
    return line


def send(message):
    server.stdin.write(json.dumps(message).encode() + b"\n")


def by_sql(tool, arguments, text):
    start = time.perf_counter()
    connection.execute(CALL, (tool, json.dumps(arguments), text, text)).fetchone()
    return time.perf_counter() - start


def by_tool(tool, arguments, number):
    start = time.perf_counter()
    send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
    line = read_line()
    took = time.perf_counter() - start
    answer = json.loads(line)
    assert answer["id"] == number and not answer["result"].get("isError"), answer
    return took


client = {"name": "bench", "version": "0"}
send(
    {
        "jsonrpc": "2.0",
        "id": "hello",
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client},
    }
)
read_line()
send({"jsonrpc": "2.0", "method": "notifications/initialized"})

made = connection.execute("select me.memory_create('The heron waits at the pond. ' || repeat('It waits. ', 40), '/bench')")
made = made.fetchone()[0]
cases = [
    ("get", "me_memory_get", {"id": made["id"]}, "yaml"),
    ("search", "me_memory_search", {"fulltext": "heron", "limit": 5}, "yaml"),
    ("count", "me_memory_count", {"tree": "/bench"}, None),
]
print("| call | SQL, µs | tool, µs | added, µs | added, 95th percentile, µs |\n|---|---:|---:|---:|---:|")
for name, tool, arguments, text in cases:
    sql, through = [], []
    for number in range(rounds + 50):
        one, other = by_sql(tool, arguments, text), by_tool(tool, arguments, number)
        if number >= 50:
            sql.append(one * 1e6)
            through.append(other * 1e6)
    high = statistics.quantiles(through, n=20)[-1] - statistics.quantiles(sql, n=20)[-1]
    middle = statistics.median(sql), statistics.median(through)
    print(f"| {name} | {middle[0]:.0f} | {middle[1]:.0f} | {middle[1] - middle[0]:.0f} | {high:.0f} |")
connection.execute("select me.memory_delete(%s::uuid)", (made["id"],))
server.stdin.close()
server.wait()
