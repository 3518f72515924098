#!/bin/sh
# After removal, as a deb (remove; purge) and as an rpm (0, which removes what purge does). What was kept stays.
set -e

case $1 in
remove) purge= ;;
purge | 0) purge=yes ;;
*) exit 0 ;;
esac

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
[ -n "$purge" ] || exit 0

if [ -d /var/lib/ingero-echo ]; then
	rmdir /var/lib/ingero-echo 2>/dev/null || {
		chown -R root:root /var/lib/ingero-echo # the user ends
		echo "What Echo has kept is left in /var/lib/ingero-echo; to delete it: sudo rm -r /var/lib/ingero-echo"
	}
fi
if getent passwd ingero-echo >/dev/null; then
	userdel ingero-echo || echo "The user ingero-echo is left, as something of it still runs." >&2
fi
if getent group ingero-echo >/dev/null; then
	groupdel ingero-echo || echo "The group ingero-echo is left." >&2
fi
