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

# Only what the services made by themselves: certificates and their keys, tokens, sockets.
rm -rf /var/lib/ingero-node-api
state=/var/lib/ingero
if [ -d $state ]; then
	find $state -type s -delete
	if [ -d $state/.ingero ]; then
		find $state/.ingero ! -type d ! -name '*.db' ! -name '*.db-*' -delete
		find $state/.ingero -depth -type d -empty -delete
	fi
	rmdir $state 2>/dev/null || {
		chown -R root:root $state # the user ends
		what=Files
		[ -z "$(find $state -type f -name '*.db')" ] || what=Recordings
		echo "$what are left in $state:"
		find $state -type f | sed 's/^/  /'
		echo "To delete them: sudo rm -r $state"
	}
fi
jobs=/var/lib/ingero-jobs # of Slurm's prolog and epilog
if [ -d $jobs ] && [ -n "$(find $jobs -type f -name '*.db')" ]; then
	echo "Recordings of jobs are left in $jobs:"
	find $jobs -type f -name '*.db' | sed 's/^/  /'
	echo "To delete them: sudo rm -r $jobs"
fi
if getent passwd ingero >/dev/null; then
	userdel ingero || echo "The user ingero is left, as something of it still runs." >&2
fi
if getent group ingero >/dev/null; then
	groupdel ingero || echo "The group ingero is left." >&2
fi
