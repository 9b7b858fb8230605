# Shared by the scripts; sourced, never run. Leaves the caller in the project's root folder.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
mkdir -p build

say() { printf '%s\n' "$*"; }

# logged LOG COMMAND...: runs the command in silence; if it fails, shows the end of what it said.
logged() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 </dev/null && return 0
  say "FAILED: $*   (the end of $log follows)"
  tail -n 80 "$log"
  return 1
}

# need GROUP...: makes sure that the packages of these groups are installed, or says what to run and ends the script.
need() {
  local group names wanted=() missing=()
  while read -r group names; do
    if [[ " $* " == *" $group "* ]]; then wanted+=($names); fi
  done < <(grep -v '^#' scripts/packages)

  if ! command -v dpkg-query >/dev/null; then
    say "This is not Debian: taking for granted what the packages ${wanted[*]} provide."
    return
  fi
  local installed package
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
  for package in "${wanted[@]}"; do
    grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then return; fi

  local as_root=()
  if ((EUID != 0)); then
    if ! sudo -n true 2>/dev/null; then
      say "Missing Debian packages. As root, run:"
      say "  apt-get install -y --no-install-recommends ${missing[*]}"
      exit 1
    fi
    as_root=(sudo -n)
  fi
  say "Installing ${missing[*]}"
  logged build/apt-update.log "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q ||
    say "Going on with the package lists that are here."
  logged build/apt-install.log "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}" || exit 1
}

# build PRESET [TARGET...]: configures and builds build/PRESET; everything without a target.
build() {
  local preset=$1 start=$SECONDS
  shift
  say "Building build/$preset${*:+ ($*)}"
  logged "build/$preset/configure.log" cmake --preset "$preset" || return 1
  logged "build/$preset/build.log" cmake --build --preset "$preset" -j "$(nproc)" ${@:+--target "$@"} || return 1
  say "  done in $((SECONDS - start)) s"
}
