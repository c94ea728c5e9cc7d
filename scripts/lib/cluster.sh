# Sourced: a database cluster in a folder. Needs common.sh.
#
#   $C/data      the cluster         $C/port      its port on 127.0.0.1
#   $C/log       the server's log    $C/password  of the role postgres, readable by its owner alone
#   $C/socket    the name of a short private folder under /tmp that holds the socket (a socket's path may
#                have about 100 bytes)
#
# Over the socket there is no password, for the folder is closed to others; over TCP there is one.
# cluster_use comes first; extra settings are in the variable CLUSTER_CONF, one a line. CLUSTER_INITDB may hold options of
# initdb that take the place of the locale provider's.

CLUSTER_LIBRARY=memory_engine # preloaded when it is installed and wants to be

cluster_use() { # folder, bin folder
    C=$1 BIN=$2
    [[ -x $BIN/postgres ]] || die "no server in $BIN"
}

# Runs a command as the server's user, in a clean environment: RUST_BACKTRACE, for one, would add
# backtraces to error messages.
as_server() {
    local -a clean=(env -i "PATH=$BIN:/usr/bin:/bin" LC_ALL=C.UTF-8 "HOME=$C")
    if is_root; then clean=(runuser -u "$SERVER_USER" -- "${clean[@]}"); fi
    (cd / && "${clean[@]}" "$@" 9>&-)
}

cluster_pid() {
    local pid
    pid=$(head -n 1 "$C/data/postmaster.pid" 2>/dev/null) || return 1
    # The number may be of another process by now, or of the server of the folder this one was copied from.
    [[ $(readlink "/proc/$pid/cwd" 2>/dev/null) == "$C/data" ]] || return 1
    printf '%s\n' "$pid"
}

cluster_library_wants_preload() {
    local so
    so=$("$BIN/pg_config" --pkglibdir)/$CLUSTER_LIBRARY.so
    [[ -f $so ]] && grep -aq _PG_init "$so"
}

# Identifies the installed library: a server that preloaded another one has to be started again.
cluster_library_stamp() {
    stat -c '%i %Y %s' "$("$BIN/pg_config" --pkglibdir)/$CLUSTER_LIBRARY.so" 2>/dev/null || printf 'none\n'
}

cluster_init() {
    [[ -f $C/data/PG_VERSION ]] && return
    mkdir -p "$C"
    rm -rf "$C/data" # an interrupted attempt
    if is_root; then install -d -m 700 -o "$SERVER_USER" -g "$SERVER_USER" "$C/data" "$C/log"; else
        install -d -m 700 "$C/data" "$C/log"
    fi
    local -a locale=(--locale=C.UTF-8)
    if [[ -n ${CLUSTER_INITDB-} ]]; then
        locale+=("${CLUSTER_INITDB[@]}")
    elif [[ $("$BIN/postgres" --version) != *" 16."* ]]; then
        locale+=(--locale-provider=builtin --builtin-locale=C.UTF-8)
    fi
    as_server "$BIN/initdb" -D "$C/data" -U postgres -E UTF8 "${locale[@]}" --auth=trust --no-sync \
        --no-instructions >"$C/initdb.log" 2>&1 || {
        cat "$C/initdb.log" >&2
        die "initdb failed"
    }
    as_server tee "$C/data/pg_hba.conf" >/dev/null <<'EOF'
local all         all              trust
local replication all              trust
host  all         all 127.0.0.1/32 scram-sha-256
EOF
    as_server mkdir "$C/data/conf.d"
    as_server tee -a "$C/data/postgresql.conf" >/dev/null <<<"include_dir = 'conf.d'"
    (umask 077 && python3 -c 'import secrets; print(secrets.token_hex(16))' >"$C/password")
}

free_port() {
    python3 - "${1-0}" <<'EOF'
import socket, sys
for port in (int(sys.argv[1]), 0):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            continue
        print(s.getsockname()[1])
        break
EOF
}

cluster_start() {
    cluster_pid >/dev/null && return
    cluster_init
    rm -f "$C/data/postmaster.pid" # of no server of ours, or cluster_pid would have said so
    local socket='' try
    [[ -f $C/socket ]] && socket=$(<"$C/socket")
    if [[ ! -d $socket ]]; then
        socket=$(mktemp -d /tmp/me-XXXXXXXX)
        if is_root; then chown "$SERVER_USER:" "$socket"; fi
        printf '%s\n' "$socket" >"$C/socket"
    fi
    for try in 1 2 3; do
        # The port of last time if it is still free, so that the URL stays the same.
        free_port "$(if [[ $try == 1 && -f $C/port ]]; then cat "$C/port"; else echo 0; fi)" >"$C/port.new"
        mv "$C/port.new" "$C/port"
        {
            printf "listen_addresses = '127.0.0.1'\nport = %s\n" "$(<"$C/port")"
            printf "unix_socket_directories = '%s'\nunix_socket_permissions = 0700\n" "$socket"
            printf "log_line_prefix = '%%m [%%p] %%q%%u@%%d '\n"
            if cluster_library_wants_preload; then
                printf "shared_preload_libraries = '%s'\n" "$CLUSTER_LIBRARY"
            fi
            printf '%s\n' "${CLUSTER_CONF-}"
        } | as_server tee "$C/data/conf.d/memory_engine.conf" >/dev/null
        cluster_library_stamp >"$C/library"
        if as_server "$BIN/pg_ctl" -D "$C/data" -l "$C/log/server.log" -w -t 60 -s start >/dev/null 2>"$C/start.log"; then
            cluster_password
            return
        fi
        tail -n 5 "$C/log/server.log" | grep -q 'could not bind' || break
    done
    tail -n 20 "$C/log/server.log" >&2
    die "the server did not start (log: $C/log/server.log)"
}

# Gives the role its password, once.
cluster_password() {
    [[ ! -f $C/password.set ]] || return 0
    # On standard input, so that it is in no list of processes.
    printf "alter role postgres password '%s';\n" "$(<"$C/password")" | cluster_psql postgres
    : >"$C/password.set"
}

# Makes the folder hold a copy of another running cluster that follows it when it is started.
cluster_copy() { # folder of the other cluster
    mkdir -p "$C"
    if is_root; then install -d -m 700 -o "$SERVER_USER" -g "$SERVER_USER" "$C/data" "$C/log"; else
        install -d -m 700 "$C/data" "$C/log"
    fi
    as_server "$BIN/pg_basebackup" -h "$(<"$1/socket")" -p "$(<"$1/port")" -U postgres -D "$C/data" \
        --write-recovery-conf --checkpoint=fast --no-sync >"$C/initdb.log" 2>&1 || {
        cat "$C/initdb.log" >&2
        die "pg_basebackup failed"
    }
    cp -p "$1/password" "$C/password"
    : >"$C/password.set"
}

cluster_stop() { # mode: fast (default) or immediate, which is a crash
    cluster_pid >/dev/null || return 0
    as_server "$BIN/pg_ctl" -D "$C/data" -m "${1-fast}" -w -t 60 -s stop >/dev/null
}

# Removes the cluster from the disk.
cluster_drop() {
    cluster_stop immediate
    if [[ -f $C/socket && $(<"$C/socket") == /tmp/me-* ]]; then rm -rf -- "$(<"$C/socket")"; fi
    rm -rf -- "$C"
}

# What libpq clients need to get to the cluster over its socket.
cluster_env() {
    unset PGPASSWORD PGSERVICE PGHOSTADDR PGOPTIONS PGDATABASE
    PGHOST=$(<"$C/socket") PGPORT=$(<"$C/port") PGUSER=postgres
    export PGHOST PGPORT PGUSER
}

# psql for scripts: stops at the first error and says only what was asked.
cluster_psql() { # database, more arguments
    local database=$1
    shift
    (cluster_env && exec "$BIN/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d "$database" "$@")
}

cluster_url() { # database
    printf 'postgres://postgres:%s@127.0.0.1:%s/%s\n' "$(<"$C/password")" "$(<"$C/port")" "$1"
}

# A database that has the extension, as far as it is installed.
cluster_database() { # name
    [[ -n $(cluster_psql postgres -c "select 1 from pg_database where datname = '$1'") ]] ||
        cluster_psql postgres -c "create database $1"
    if [[ -z $(cluster_psql "$1" -c "select 1 from pg_available_extensions where name = 'memory_engine'") ]]; then
        say "memory_engine is not installed in this server yet"
    elif [[ -z $(cluster_psql "$1" -c "select 1 from pg_extension where extname = 'memory_engine'") ]]; then
        cluster_psql "$1" -c "set client_min_messages = warning; create extension memory_engine cascade"
    else
        cluster_psql "$1" -c "set client_min_messages = warning; alter extension memory_engine update"
    fi
}
