#!/usr/bin/env bash
# What capsules cost next to plain memories, over many of them.
#   benches/capsules.sh [SECONDS [CAPSULES]]     a run of each pair, 10 unless said; 100000 capsules unless said
# Needs a release build (scripts/build 18 --release); a server of its own, gone afterwards. The two scripts of a pair run
# interleaved in one pgbench over one connection, with prepared statements; what counts is the ratio of the medians.
# Words are as unevenly common as those of a language: the word of rank r is in every (10 r)th place or so.
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"

PG=${PG:-18}
check_major "$PG"
seconds=${1:-10} capsules=${2:-100000}
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
create function line(words int) returns text language sql volatile as $$
  select string_agg(word(floor(power(30000, random()))::int), ' ') from generate_series(1, words)
$$;
select setseed(0.5);
select me.memory_batch_create((
  select jsonb_agg(jsonb_build_object('content', line(20), 'tree', 'share', 'name', 'n' || n,
    'id', '0190a1b2-0000-7000-8000-' || lpad(n::text, 12, '0'))) from generate_series(1, 1000) as n)) is not null;
EOF
say "capturing $capsules capsules"
begun=$(date +%s%N)
for ((done = 0; done < capsules; done += 500)); do
    printf "select me.capsule_ingest(items => (select jsonb_agg(jsonb_build_object('content', line(20), 'source', 'log', 'anchor', 'log:' || n, 'project_id', 'p' || n %% 20, 'kind', (array['fact', 'decision', 'task'])[1 + n %% 3])) from generate_series(1, 500) as n)) -> 'captured';\n"
done | sql >/dev/null
spent=$((($(date +%s%N) - begun) / 1000))
# A tenth is replaced by another, and some block each other.
sql >/dev/null <<EOF
select count(me.capsule_relate('supersedes', 'cap-' || n * 10, 'cap-' || n * 10 - 5)) from generate_series(1, $capsules / 100) as n;
select count(me.capsule_relate('blocks', 'cap-' || n * 10 + 1, 'cap-' || n * 10 + 2)) from generate_series(1, 500) as n;
vacuum analyze;
checkpoint;
EOF

script() { printf '%s\n' "$2" >"$folder/$1.sql"; }
words='\set a random(LOW, HIGH)
\set b random(LOW, HIGH)'
script get '\set n random(1, 1000)
select me.capsule_get('"'cap-'"' || :n);'
script get_plain '\set n random(1, 1000)
select me.memory_get(('"'0190a1b2-0000-7000-8000-'"' || lpad(:n::text, 12, '"'0'"'))::uuid);'
for class in 'rare 2000 6000' 'middling 100 500' 'common 8 30'; do
    read -r name low high <<<"$class"
    range=${words//LOW/$low}
    range=${range//HIGH/$high}
    script "one_$name" "$range
select me.capsule_retrieve(terms => array[word(:a)]);"
    script "one_${name}_plain" "$range
select me.memory_search(fulltext => word(:a));"
    script "two_$name" "$range
select me.capsule_retrieve(terms => array[word(:a), word(:b)]);"
    script "two_${name}_plain" "$range
select me.memory_search(fulltext => word(:a) || ' ' || word(:b));"
done
script ingest "select me.capsule_ingest(line(20), source => 'log', anchor => 'log:1', project_id => 'p1');"
script ingest_plain "select me.memory_create(line(20), 'share/new');"
script digest 'select me.capsule_digest();'

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
for name in rare middling common; do
    compare "\`capsule_retrieve\` / \`memory_search\`, one $name word" "one_${name}_plain" "one_$name" '≤ 1.5'
    compare "the same, two $name words" "two_${name}_plain" "two_$name" '≤ 1.5'
done
compare '`capsule_ingest` / `memory_create`' ingest_plain ingest
printf '\nCapturing %s capsules in batches of 500: %s µs each\n' "$capsules" $((spent / capsules))
printf "First digest and first recall of a session, then digests, in ms:\n"
sql -c '\timing on' -c 'select count(me.capsule_digest())' -c 'select count(me.capsule_digest())' | sed -n 's/^Time: \([0-9.]*\) ms.*/  digest \1/p'
sql -c '\timing on' -c "select count(me.capsule_retrieve(terms => array[word(3000)]))" -c "select count(me.capsule_retrieve(terms => array[word(3001)]))" |
    sed -n 's/^Time: \([0-9.]*\) ms.*/  recall \1/p'
printf '| digest after the first | | %s | | ≤ 200000 |\n' "$(medians digest)"
