#!/bin/sh
# After removal, as a deb (remove; purge) and as an rpm (0, which removes what purge does). Recordings stay.
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

# Only what the services made by themselves.
rm -rf /var/lib/ingero-node-api
if [ -d /var/lib/ingero ]; then
	rmdir /var/lib/ingero 2>/dev/null || {
		chown -R root:root /var/lib/ingero # the user ends
		echo "Recordings are left in /var/lib/ingero:"
		find /var/lib/ingero -type f -name '*.db' | sed 's/^/  /'
		echo "To delete them: sudo rm -r /var/lib/ingero"
	}
fi
if getent passwd ingero >/dev/null; then
	userdel ingero || echo "The user ingero is left, as something of it still runs." >&2
fi
if getent group ingero >/dev/null; then
	groupdel ingero || echo "The group ingero is left." >&2
fi
