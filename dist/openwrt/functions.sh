# What uci-to-toml needs of OpenWrt's /lib/functions.sh, for tests on other systems. A file of UCI is a script of these commands.
# shellcheck shell=sh disable=SC2154

config_cb() { :; }
option_cb() { :; }
list_cb() { :; }

config() {
	unnamed=$((${unnamed:-0} + 1))
	CONFIG_SECTION="${2:-cfg$unnamed}"
	CONFIG_SECTIONS="$CONFIG_SECTIONS $CONFIG_SECTION"
	eval "CONFIG_${CONFIG_SECTION}_TYPE=\$1"
	config_cb "$1" "$CONFIG_SECTION"
}

option() {
	eval "CONFIG_${CONFIG_SECTION}_$1=\$2"
	option_cb "$1" "$2"
}

list() {
	eval "length=\$((\${CONFIG_${CONFIG_SECTION}_$1_LENGTH:-0} + 1))"
	eval "CONFIG_${CONFIG_SECTION}_$1_LENGTH=\$length CONFIG_${CONFIG_SECTION}_$1_ITEM$length=\$2"
	list_cb "$1" "$2"
}

config_load() {
	[ -r "$UCI_CONFIG_DIR/$1" ] || return 1
	# shellcheck source=/dev/null
	. "$UCI_CONFIG_DIR/$1"
	config_cb
}

config_get() {
	eval "$1=\${CONFIG_$2_$3:-\$4}"
}

config_get_bool() {
	config_get "$@"
	eval "case \$$1 in 1 | on | true | yes | enabled) $1=1 ;; *) $1=0 ;; esac"
}

config_foreach() {
	for each in $CONFIG_SECTIONS; do
		eval "type=\$CONFIG_${each}_TYPE"
		# shellcheck disable=SC2154  # assigned above
		[ "$type" != "$2" ] || "$1" "$each"
	done
}

config_list_foreach() {
	eval "items=\${CONFIG_$1_$2_LENGTH:-0}"
	item=0
	while [ "$item" -lt "$items" ]; do
		item=$((item + 1))
		eval "$3 \"\$CONFIG_$1_$2_ITEM$item\""
	done
}
