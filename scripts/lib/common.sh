# Sourced by every script: where things are, and the few words all of them need.
# Sets ROOT (the checkout), CACHE (downloads and tools, shared by all checkouts of a user) and, after
# ensure_dev, DEV (everything made for this checkout; the folder .dev, or what it points to).

set -euo pipefail
umask 022

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
CACHE=${MEMORY_ENGINE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/memory_engine}
TOOLS=$CACHE/tools
SERVER_USER=postgres # whom the server runs as when we are root, which it refuses

say() { printf '%s\n' "$*" >&2; }

die() {
    say "error: $*"
    exit 1
}

is_root() { [[ $EUID -eq 0 ]]; }

check_major() {
    case ${1-} in
    16 | 17 | 18) ;;
    *) die "PG is '${1-}', expected 16, 17 or 18" ;;
    esac
}

# Holds an exclusive lock on a file until the script ends. Servers must be started with 9>&-.
lock() {
    mkdir -p "$(dirname "$1")"
    exec 9>>"$1"
    flock 9
}

# Runs a long step with its output in a log, and shows the end of the log if it fails.
logged() {
    local log=$1
    shift
    "$@" >"$log" 2>&1 9>&- || {
        tail -n 40 "$log" >&2
        die "failed: $* (whole log: $log)"
    }
}

ensure_server_user() {
    is_root || return 0
    getent passwd "$SERVER_USER" >/dev/null || useradd --system --user-group --shell /bin/sh "$SERVER_USER"
}

# Whether the server can work below a folder: make and PGXS stand no blanks and no other odd characters,
# and the server's user must be allowed to get there.
is_usable_by_server() {
    [[ $1 =~ ^[A-Za-z0-9/_.+-]+$ ]] || return 1
    ! is_root || runuser -u "$SERVER_USER" -- test -x "$1" 2>/dev/null
}

# Makes .dev. Where the checkout is no place for a server, .dev is a link to a folder that is.
ensure_dev() {
    ensure_server_user
    local link=$ROOT/.dev place
    place=/var/tmp/memory_engine-$(printf '%s %s' "$EUID" "$ROOT" | sha256sum | cut -c1-12)
    # A link that came along when a checkout was copied would make two of them share one server.
    if [[ -L $link && $(readlink "$link") == /var/tmp/memory_engine-* && $(readlink "$link") != "$place" ]]; then
        rm "$link"
    fi
    if [[ ! -d $link ]]; then
        if [[ ! -L $link ]] && is_usable_by_server "$ROOT"; then
            mkdir -p "$link"
        else
            mkdir -p -m 755 "$place"
            # Anybody may create names there: never work in a folder of somebody else.
            [[ -O $place && ! -L $place ]] || die "$place belongs to somebody else"
            ln -sfn "$place" "$link"
        fi
    fi
    DEV=$(cd "$link" && pwd -P)
    [[ -O $DEV ]] || die "$DEV belongs to $(stat -c %U "$DEV"): use the checkout as that user, or make one of your own"
}

# The environment in which cargo and cargo-pgrx build one and the same thing, for a major, only once.
cargo_env() { # major
    command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
    command -v cargo >/dev/null || die "cargo is missing: install Rust (rustup) first"
    export PATH=$TOOLS/bin:$PATH
    export PGRX_HOME=$ROOT/.dev/pgrx/pg${1-18}
    # Set, if only to nothing: otherwise cargo-pgrx adds flags of its own and everything is built twice.
    # What they are for is done in build.rs.
    export RUSTFLAGS=${RUSTFLAGS-}
    if [[ -z ${CARGO_TARGET_DIR-} && ! $ROOT =~ ^[A-Za-z0-9/_.+-]+$ ]]; then
        export CARGO_TARGET_DIR=$DEV/target
    fi
    TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
    share_crates take
}

# What cargo compiled of other people's crates, shared by the checkouts of a user: it takes minutes. Cargo names each
# piece by a hash of all that matters to it, so no checkout can take for its own what is not; links cost no space.
#   share_crates take|give
share_crates() {
    local shared=$CACHE/crates from to stamp part
    stamp=$TARGET/debug/.crates-$(sha256sum <"$ROOT/Cargo.lock" | cut -c1-16)
    case $1 in
    take)
        [[ -d $shared && ! -f $stamp ]] || return 0
        from=$shared to=$TARGET/debug
        ;;
    give) from=$TARGET/debug to=$shared ;;
    esac
    for part in deps build .fingerprint; do
        [[ -d $from/$part ]] || continue
        mkdir -p "$to/$part"
        # Not our own crates, and not those that are made for the checkout's PostgreSQL.
        (cd "$from/$part" && find . -mindepth 1 -maxdepth 1 ! -name '*memory_engine*' ! -name '*memory-engine*' \
            ! -name '*pgrx*' -print0 | xargs -0 -r cp -aln -t "$to/$part/" 2>/dev/null) || true
    done
    mkdir -p "$TARGET/debug"
    : >"$stamp"
}

# The version of pgrx that Cargo.toml pins; cargo-pgrx must be the same.
pgrx_version() {
    local version
    version=$(sed -nE 's/^pgrx *=.*"=([0-9.]+)".*/\1/p' "$ROOT/Cargo.toml" | head -n 1)
    [[ -n $version ]] || die "Cargo.toml pins no version of pgrx"
    printf '%s\n' "$version"
}

# The prepared server of a major: its bin folder. With "test": the copy that tests install into, so that
# they never replace the library under a running server.
pg_bin() { printf '%s\n' "$DEV/pg$1${2:+-$2}/bin"; }
