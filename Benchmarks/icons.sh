# Sourced by Scripts/bench and Scripts/rehearsals. Downloads real icons into $work/icons.
if [ ! -d "$work/icons" ]; then
    say "Downloading the icons: Debian's oxygen-icon-theme and gnome-icon-theme"
    mkdir -p "$work"
    (cd "$work" && apt-get download oxygen-icon-theme gnome-icon-theme >&2)
    for package in "$work"/*.deb; do dpkg -x "$package" "$work/unpacked"; done
    mv "$work/unpacked" "$work/icons"
fi
