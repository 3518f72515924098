# The deb is removed, installed again, and purged.

timed "removing the deb" /tmp/removed dpkg -r ingero
check "it is removed" not test -e /usr/bin/ingero
check "the service has ended" not systemctl is-active -q ingero
check "nothing of it runs" not pgrep -x ingero
check "configuration stays" test -e /etc/ingero/trace.env
check "the recording stays" test -s /var/lib/ingero/ingero.db
timed "installing the deb" /tmp/again dpkg -i ingero_*_amd64.deb
check "it installs again" ingero explain --since all
check "there is a key to delete" test -s /var/lib/ingero/.ingero/node-key.pem
timed "purging the deb" /tmp/purged dpkg -P ingero
check "purge names the recording" says "  /var/lib/ingero/ingero.db" /tmp/purged
check "it is root's" equal "$(stat -c %U:%G /var/lib/ingero/ingero.db)" root:root
check "its user is gone" not getent passwd ingero
check "nothing else is left" left /tmp/before '/var/lib/ingero(/ingero\.db(-wal|-shm)?)?'

# Without a recording nothing is left at all.
rm -r /var/lib/ingero
dpkg -i ingero_*_amd64.deb >/tmp/again 2>&1
dpkg -P ingero >/tmp/purged 2>&1
check "without a recording, purge leaves nothing" left /tmp/before
check "and names none" not says "are left" /tmp/purged
rm /packages/*/ingero_*
