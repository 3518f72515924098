#!/bin/sh
# Before removal, as a deb (remove) and as an rpm (0). An upgrade goes on until it has been replaced.
set -e

case $1 in
remove | 0) ;;
*) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	systemctl disable --now ingero-echo.service || true # it may be masked, or gone
fi
