#!/bin/sh
# Makes the root folder of the image: this Node with the libraries that it needs, and the packed package with its dependencies.
#   config/container/make-root.sh FOLDER && buildah build -f config/container/Containerfile -t compute-agent FOLDER
set -eu
folder=$1
package=$(cd "$(dirname "$0")/../.." && pwd)
root=$folder/root
mkdir -p "$root/bin" "$root/tmp" "$root/state" "$root/app"
node=$(node -p process.execPath)
cp "$node" "$root/bin/node"
tarball=$(npm pack "$package" --ignore-scripts --silent --pack-destination "$folder")
npm install "$folder/$tarball" --prefix "$root/app" --omit=dev --prefer-offline --no-audit --no-fund --silent
rm "$folder/$tarball"
for library in $(find "$node" "$root/app" \( -path "$node" -o -name "*.node" \) -exec ldd {} + | grep -o '/[^ ]* (0x' | cut -d' ' -f1 | sort -u); do
  mkdir -p "$root$(dirname "$library")"
  cp -L "$library" "$root$library"
done
