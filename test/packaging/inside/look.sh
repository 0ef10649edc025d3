#!/bin/sh
# A tool that tells what it could reach: none of it should be.
cat > /dev/null
seen=""
for file in /etc/parley/environment /etc/parley/parley.json /var/lib/parley/parley.db; do
    if cat $file > /dev/null 2>&1; then seen="$seen $file"; fi
done
for file in /var/lib/parley/left /etc/left /tmp/left; do
    if (echo x > $file) 2> /dev/null; then seen="$seen wrote:$file"; fi
done
(chmod 777 /var/lib/parley) 2> /dev/null && seen="$seen chmod"
echo x > "$HOME/mine" && own=yes
echo "{\"result\":\"own:$own seen:$seen\"}"
