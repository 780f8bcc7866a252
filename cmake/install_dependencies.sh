#!/usr/bin/env bash
# Installs the Debian 12 packages that building and testing need, those named as arguments besides, and only
# what is missing of them.
set -euo pipefail

packages=(
  clang-19 lld-19 llvm-19 libclang-rt-19-dev clang-tidy-19 clang-format-19
  cmake ninja-build ccache git
  libboost1.81-dev libnghttp2-dev libsimdjson-dev libspdlog-dev prometheus-cpp-dev libcli11-dev
  libssl-dev libcjose-dev libxxhash-dev libgtest-dev libbenchmark-dev
  python3 python3-venv openssl
  dpkg-dev file
  "$@"
)

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "All packages are installed."
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Run this as root, or install sudo; missing packages: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"; }

echo "Installing: ${missing[*]}"
apt update
apt install --yes --no-install-recommends "${missing[@]}"
