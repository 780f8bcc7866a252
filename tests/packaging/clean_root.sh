#!/usr/bin/env bash
# Installs a package by apt into a new Debian 12, and starts what it has brought: the binary as the service's user,
# with the service's settings.
#
#   clean_root.sh PACKAGE FOLDER     needs root and debootstrap; FOLDER is made if it is not there, and stays
set -euo pipefail
package=$(realpath "$1")
root=$2

[[ -d $root ]] || debootstrap --variant=minbase bookworm "$root" > /dev/null
cp "$package" "$root/tmp/smg.deb"
chroot "$root" apt-get -qq update
DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get -qq install --yes --no-install-recommends /tmp/smg.deb

# A chroot shares the ports of this machine.
port=${SMG_PORT:-30080}
chroot --userspec=smg:smg "$root" /usr/bin/smg launch --config /etc/smg/smg.toml --host 127.0.0.1 --port "$port" \
  --prometheus-port "$((port + 1))" --shutdown-grace-period-secs 0 &
gateway=$!
trap 'kill "$gateway" 2> /dev/null || true' EXIT

answers() {
  local status
  exec 3<> "/dev/tcp/127.0.0.1/$port" || return
  printf 'GET /liveness HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
  read -r _ status _ <&3
  [[ $status == 200 ]]
}
until (answers) 2> /dev/null; do
  kill -0 "$gateway"
  sleep 0.1
done
kill "$gateway"
wait "$gateway"
trap - EXIT

DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get -qq purge --yes smg
if [[ -e $root/etc/smg ]]; then
  echo "purging has left /etc/smg behind" >&2
  exit 1
fi
echo "installed, started, stopped and purged"
