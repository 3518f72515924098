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
	systemd-sysusers /usr/lib/sysusers.d/ingero-echo.conf
else
	getent group ingero-echo >/dev/null || groupadd --system ingero-echo
	getent passwd ingero-echo >/dev/null || useradd --system --gid ingero-echo --home-dir /var/lib/ingero-echo \
		--no-create-home --shell /usr/sbin/nologin --comment "Ingero's memory of a cluster" ingero-echo
fi
if [ -e /etc/ingero/echo.env ]; then # else it was deleted, and the unit does without
	chgrp ingero-echo /etc/ingero/echo.env # it may have a token
	chmod 640 /etc/ingero/echo.env
fi

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	if [ -n "$upgrade" ]; then
		# That the service does not start must not leave the package half installed.
		systemctl try-restart ingero-echo.service || echo "Echo did not start again. next: journalctl -u ingero-echo" >&2
	fi
fi
if [ -z "$upgrade" ]; then
	cat <<'END'
Echo is installed, and does not run yet.
next: put a token into /etc/ingero/echo.env, then: sudo systemctl enable --now ingero-echo
END
fi
