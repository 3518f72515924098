#!/bin/sh
# Before removal, as a deb (remove) and as an rpm (0). An upgrade goes on recording until it has been replaced.
set -e

case $1 in
remove | 0) ;;
*) exit 0 ;;
esac
# A unit may be masked, or gone. Where systemd does not run, as in a chroot, the link of an enabled one goes, too.
if [ -d /run/systemd/system ]; then
	systemctl disable --now ingero.service ingero-node-api.service || true
elif command -v systemctl >/dev/null; then
	systemctl disable ingero.service ingero-node-api.service || true
fi
