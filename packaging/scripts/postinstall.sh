#!/bin/sh
# After installation and upgrade, as a deb (configure, the old version) and as an rpm (1: first, 2: upgrade).
set -e

case $1 in
configure) [ -n "$2" ] && upgrade=yes || upgrade= ;;
1) upgrade= ;;
2) upgrade=yes ;;
*) exit 0 ;; # an interrupted upgrade of the package
esac

if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers /usr/lib/sysusers.d/ingero.conf
else
	getent group ingero >/dev/null || groupadd --system ingero
	getent passwd ingero >/dev/null || useradd --system --gid ingero --home-dir /var/lib/ingero --no-create-home \
		--shell /usr/sbin/nologin --comment "Ingero, which records why GPUs wait" ingero
fi
# They may have tokens.
for f in /etc/ingero/trace.env /etc/ingero/node-api.env; do
	[ -e $f ] || continue # it was deleted, and units do without
	chgrp ingero $f
	chmod 640 $f
done

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	if [ -n "$upgrade" ]; then
		# That a service does not start must not leave the package half installed.
		systemctl try-restart ingero.service ingero-node-api.service ||
			echo "Ingero did not start again. next: journalctl -u ingero -u ingero-node-api" >&2
	fi
fi
if [ -z "$upgrade" ]; then
	cat <<'END'
Ingero is installed, and records nothing yet.
next: sudo ingero check
END
fi
