# The fleet's deb, which has no service: an earlier version is installed, upgraded to this one, asked, and removed.

everything >/tmp/before-fleet
timed "installing the fleet's deb of an earlier version" /tmp/installed dpkg -i /packages/old/ingero-fleet_0.deb
check "the fleet installs" dpkg -s ingero-fleet
check "the fleet says what is next" says "next: ingero-fleet serve --help" /tmp/installed
ingero-fleet serve >/tmp/fleet 2>&1 &
server=$!
check "it answers" soon ingero fleet status --fleet 127.0.0.1:4318
timed "upgrading the fleet's deb" /tmp/upgraded dpkg -i ingero-fleet_*_amd64.deb
check "the fleet upgrades" equal "$(dpkg-query -W -f '${Version}' ingero-fleet)" "$NEW_VERSION"
check "it says nothing of a first installation" not says "next:" /tmp/upgraded
check "one that runs goes on" ingero fleet status --fleet 127.0.0.1:4318
kill "$server"
wait "$server"
ingero-fleet serve >/tmp/fleet 2>&1 &
server=$!
check "the new one answers" soon ingero fleet status --fleet 127.0.0.1:4318
kill "$server"
wait "$server"
timed "removing the fleet's deb" /tmp/removed dpkg -r ingero-fleet
check "nothing of the fleet is left" left /tmp/before-fleet '/var/lib/ingero/.*'
rm /packages/*/ingero-fleet_*
