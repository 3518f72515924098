#!/bin/sh
# After the first installation, as a deb (configure) and as an rpm (1). An upgrade has nothing to say.
set -e

case $1:$2 in
configure: | 1:*) ;;
*) exit 0 ;;
esac
cat <<'END'
ingero-fleet is installed. It has no service.
next: ingero-fleet serve --help        how tracers on this machine, or on others, reach it
END
