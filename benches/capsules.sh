#!/usr/bin/env bash
# What capsules cost next to plain memories, over many of them: `scripts/bench capsules`.
#   benches/capsules.sh [SECONDS [CAPSULES]]     a run of each pair, 5 unless said; 100000 capsules unless said
# Needs a release build (scripts/build 18 --release); a server of its own, gone afterwards. The two scripts of a pair run
# interleaved in one pgbench over one connection, with prepared statements; what counts is the ratio of the medians.
# Searches and recalls show ten rows each. Words are as unevenly common as those of a language: the word of rank r is in every (r/2)th text or so.
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"

PG=${PG:-18}
check_major "$PG"
seconds=${1:-5} capsules=${2:-100000}
ensure_dev
PG_BIN=${PG_BIN:-$(pg_bin "$PG")}
export PG_BIN
folder=$(mktemp -d /tmp/memory_engine-bench-XXXXXX)
chmod 755 "$folder"
finish() {
    "$ROOT/scripts/cluster" drop "$folder/server" || true
    rm -rf -- "$folder"
}
trap finish EXIT

MEMORY_ENGINE_CONF=$'fsync = off\nshared_buffers = 512MB\nmax_wal_size = 8GB\nautovacuum = off\nme.worker = off\n' \
    "$ROOT/scripts/cluster" start "$folder/server"
PGHOST=$("$ROOT/scripts/cluster" socket "$folder/server") PGPORT=$(<"$folder/server/port") PGUSER=postgres PGDATABASE=postgres
export PGHOST PGPORT PGUSER PGDATABASE
sql() { "$PG_BIN/psql" -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

sql >/dev/null <<'EOF'
set client_min_messages = warning;
create extension memory_engine cascade;
create function word(rank int) returns text language sql immutable as $$
  select translate(rank::text, '0123456789', 'bdfgkmnprt') || 'ok'
$$;
create function line(words int) returns text language plpgsql volatile as $$
declare text text := '';
begin
  for n in 1 .. words loop text := text || translate(floor(power(30000, random()))::int::text, '0123456789', 'bdfgkmnprt') || 'ok '; end loop;
  return rtrim(text);
end $$;
-- Processor time of this backend, in milliseconds.
create function spent() returns bigint language sql volatile as $$
  select 10 * (stat[12]::bigint + stat[13]::bigint)
  from regexp_split_to_array(split_part(pg_read_file('/proc/self/stat'), ') ', 2), ' ') as stat
$$;
select setseed(0.5);
select me.memory_batch_create((
  select jsonb_agg(jsonb_build_object('content', line(20), 'tree', 'share', 'name', 'n' || n,
    'id', '0190a1b2-0000-7000-8000-' || lpad(n::text, 12, '0'))) from generate_series(1, 1000) as n)) is not null;
create role reader login;
select me.access_grant('reader', '/', 'read');
EOF
say "capturing $capsules capsules"
part=$((capsules / 10)) batches=''
for ((done = 0; done < capsules; done += 500)); do
    if ((done % part < 500)); then batches+=$'select spent();\n'; fi
    batches+="select me.capsule_ingest(items => (select jsonb_agg(jsonb_build_object('content', line(20), 'source', 'log', 'anchor', 'log:' || n, 'project_id', 'p' || n % 20, 'kind', (array['fact', 'decision', 'task'])[1 + n % 3])) from generate_series(1, 500) as n)) is null"$' \\g /dev/null\n'
done
mapfile -t spent < <(sql <<<"${batches}select spent();")
# A tenth is replaced by another, and some block each other.
sql >/dev/null <<EOF
select count(me.capsule_relate('supersedes', 'cap-' || n * 10, 'cap-' || n * 10 - 5)) from generate_series(1, $capsules / 100) as n;
select count(me.capsule_relate('blocks', 'cap-' || n * 10 + 1, 'cap-' || n * 10 + 2)) from generate_series(1, 500) as n;
do \$\$ begin
  loop exit when (me.lexical_maintain() ->> 'complete')::boolean; end loop;
end \$\$;
vacuum analyze;
checkpoint;
EOF

script() { printf '%s\n' "$2" >"$folder/$1.sql"; }
words='\set a random(LOW, HIGH)
\set b random(LOW, HIGH)'
script get '\set n random(1, '"$capsules"')
select me.capsule_get('"'cap-'"' || :n);'
script get_plain '\set n random(1, 1000)
select me.memory_get(('"'0190a1b2-0000-7000-8000-'"' || lpad(:n::text, 12, '"'0'"'))::uuid);'
for class in 'rare 2000 6000' 'middling 100 500' 'common 8 30'; do
    read -r name low high <<<"$class"
    range=${words//LOW/$low}
    range=${range//HIGH/$high}
    script "one_$name" "$range
select me.capsule_retrieve(terms => array[word(:a)], \"limit\" => 10);"
    script "one_${name}_plain" "$range
select me.memory_search(fulltext => word(:a), \"limit\" => 10);"
    script "two_$name" "$range
select me.capsule_retrieve(terms => array[word(:a), word(:b)], \"limit\" => 10);"
    script "two_${name}_plain" "$range
select me.memory_search(fulltext => word(:a) || ' ' || word(:b), \"limit\" => 10);"
done
script ingest "select me.capsule_ingest(line(20), source => 'log', anchor => 'log:1', project_id => 'p1');"
script ingest_plain "select me.memory_create(line(20), 'share/new');"
script digest 'select me.capsule_digest();'
script capture "$(<"$folder/ingest.sql")"

# The median latency of each script of one interleaved run, in microseconds, in the order of the scripts.
medians() { # script…
    local name files=()
    for name in "$@"; do files+=(-f "$folder/$name.sql@1"); done
    rm -f "$folder"/log.*
    (cd "$folder" && "$PG_BIN/pgbench" -n -M prepared -c 1 -T "$seconds" --log --log-prefix=log "${files[@]}" >"$folder/pgbench.out" 2>&1) ||
        { tail -n 5 "$folder/pgbench.out" >&2; die "pgbench failed"; }
    sort -n -k4,4 -k3,3 "$folder"/log.* | awk -v scripts="$#" '
        { n[$4]++; latency[$4, n[$4]] = $3 }
        END { for (s = 0; s < scripts; s++) print latency[s, int((n[s] + 1) / 2)] }'
}

compare() { # what, plain script, our script, goal
    local m
    mapfile -t m < <(medians "$2" "$3")
    printf '| %s | %s | %s | %s | %s |\n' "$1" "${m[0]}" "${m[1]}" \
        "$(awk "BEGIN { printf \"%.2f\", ${m[1]} / ${m[0]} }")" "${4-}"
}

printf 'PostgreSQL %s, %s capsules, %s s a pair, medians in µs\n\n' "$("$PG_BIN/postgres" --version | cut -d' ' -f3)" "$capsules" "$seconds"
printf '| capsules | plain memories | capsules | ratio | goal |\n|---|---:|---:|---:|---|\n'
compare '`capsule_get` / `memory_get`' get_plain get '≤ 2.5'
PGUSER=reader compare 'the same, as a role with a grant' get_plain get '≤ 2.5'
for name in rare middling common; do
    compare "\`capsule_retrieve\` / \`memory_search\`, one $name word" "one_${name}_plain" "one_$name" '≤ 1.5'
    compare "the same, two $name words" "two_${name}_plain" "two_$name" '≤ 1.5'
done
compare '`capsule_ingest` / `memory_create`' ingest_plain ingest

mapfile -t m < <(medians digest)
printf '| `capsule_digest` | | %s | | ≤ 200000 |\n' "${m[0]}"
mapfile -t m < <(medians digest capture)
printf '| the same, each after a capture | | %s | | ≤ 200000 |\n' "${m[0]}"
printf '\nCapturing in batches of 500, processor time of the backend for each capture, a tenth of them after the other, in µs:\n '
for ((n = 1; n < ${#spent[@]}; n++)); do printf ' %s' $(((spent[n] - spent[n - 1]) * 1000 / part)); done
printf '\n\nThe first calls of a session and the second ones, in ms:\n'
twice() { # name, call, call
    sql -c '\timing on' -c "select count($2)" -c "select count($3)" |
        sed -n "s/^Time: \\([0-9.]*\\) ms.*/  $1 \\1/p"
}
twice digest 'me.capsule_digest()' 'me.capsule_digest()'
twice retrieve "me.capsule_retrieve(terms => array[word(3000)])" "me.capsule_retrieve(terms => array[word(3001)])"
