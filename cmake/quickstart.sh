#!/usr/bin/env bash
# Installs what is missing, builds, and runs the gateway in front of two built-in echo workers.
# Arguments are passed on to `smg serve`. Ctrl-C stops it.
set -euo pipefail
cd "$(dirname "$0")/.."

port=30000
arguments=("$@")
for ((i = 0; i < $#; i++)); do
  case ${arguments[i]} in
    --port) port=${arguments[i + 1]:-$port} ;;
    --port=*) port=${arguments[i]#--port=} ;;
  esac
done

cmake/install_dependencies.sh
cmake --preset release
cmake --build --preset release --target smg

build/release/smg serve --backend echo "$@" &
gateway=$!
trap 'kill -TERM "$gateway" 2>/dev/null || true' INT TERM

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
# A port that somebody else holds would listen too: the gateway has to be there as well.
until sleep 0.3 && kill -0 "$gateway" 2>/dev/null && listens; do
  kill -0 "$gateway" 2>/dev/null || { wait "$gateway"; exit; }
done
cat <<TEXT

The gateway listens on port $port. Try it from another terminal:

  curl -N http://127.0.0.1:$port/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{"model": "echo", "stream": true, "messages": [{"role": "user", "content": "Hello, gateway"}]}'

Ctrl-C stops it.
TEXT

# A trapped signal ends `wait` early; the second one collects the exit code.
wait "$gateway" || code=$?
while kill -0 "$gateway" 2>/dev/null; do wait "$gateway" || code=$?; done
exit "${code:-0}"
