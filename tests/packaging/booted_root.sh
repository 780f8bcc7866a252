#!/usr/bin/env bash
# Boots a new Debian 12 with systemd in a container, and takes the package's service through its life there: started
# by its installation, asked, reloaded, restarted, stopped.
#
#   booted_root.sh PACKAGE FOLDER     needs root, debootstrap and systemd-nspawn; FOLDER is made if it is not there,
#                                     and stays
set -euo pipefail
package=$(realpath "$1")
root=$2

[[ -d $root ]] || debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus bookworm "$root" > /dev/null
cp "$package" "$root/tmp/smg.deb"
chroot "$root" apt-get -qq update
DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get -qq install --yes --no-install-recommends /tmp/smg.deb

cat > "$root/usr/local/bin/try-smg" << 'SCRIPT'
#!/usr/bin/env bash
set -euxo pipefail

answers() {
  local status
  exec 3<> /dev/tcp/127.0.0.1/30000 || return
  printf 'GET /liveness HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
  read -r _ status _ <&3
  [[ $status == 200 ]]
}
# `Type=notify`: whoever is started listens.
systemctl start smg
answers
systemctl reload smg
answers
systemctl restart smg
answers
systemctl stop smg
[[ $(systemctl show smg -p Result --value) == success ]]
touch /tried-smg
SCRIPT
chmod +x "$root/usr/local/bin/try-smg"
cat > "$root/etc/systemd/system/try-smg.service" << 'UNIT'
[Unit]
After=multi-user.target smg.service
[Service]
Type=oneshot
ExecStart=/usr/local/bin/try-smg
ExecStopPost=systemctl poweroff --no-block
StandardError=journal+console
[Install]
WantedBy=multi-user.target
UNIT
chroot "$root" systemctl --quiet enable try-smg

rm -f "$root/tried-smg"
timeout 180 systemd-nspawn --quiet --directory "$root" --boot --private-network --register=no --keep-unit
if [[ ! -e $root/tried-smg ]]; then
  echo "the service did not do what was asked of it" >&2
  exit 1
fi
echo "started, reloaded, restarted and stopped by systemd"
