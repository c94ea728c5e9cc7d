# Sourced: packages of Debian. Needs common.sh.

# Files of the next Debian release, fetched with a package list of our own that the system never sees.
#   debian download|source PACKAGE
debian() {
    local command=$1 package=$2 folder=$CACHE/downloads/debian-$2 work
    if [[ ! -f $folder/complete ]]; then
        say "downloading $package"
        rm -rf "$folder"
        mkdir -p "$folder"
        work=$(mktemp -d "$CACHE/apt-XXXXXX")
        mkdir -p "$work"/{lists,cache/archives}/partial
        "$ROOT/scripts/lib/debian-source" trixie >"$work/list"
        local -a apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/list" -o Dir::Etc::sourceparts=-
            -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=
            -o Debug::NoLocking=true -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
            -o Acquire::Languages=none)
        [[ $command == download ]] || apt+=(--download-only)
        (cd "$folder" && "${apt[@]}" update && "${apt[@]}" "$command" "$package") >"$work.log" 2>&1 9>&- || {
            tail -n 20 "$work.log" >&2
            rm -rf "$work"
            die "could not download $package"
        }
        rm -rf "$work" "$work.log"
        touch "$folder/complete"
    fi
    printf '%s\n' "$folder"
}

# Installs what the caller's missing_packages prints, or names it.
install_packages() {
    local -a missing
    mapfile -t missing < <(missing_packages)
    ((${#missing[@]})) || return 0
    if is_root && command -v apt-get >/dev/null; then
        say "installing ${missing[*]}"
        export DEBIAN_FRONTEND=noninteractive
        logged "$CACHE/apt.log" apt-get -q update
        logged "$CACHE/apt.log" apt-get -q install -y --no-install-recommends "${missing[@]}"
    else
        die "missing system packages, please install: ${missing[*]}"
    fi
}
