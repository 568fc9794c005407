#compdef teams
# zsh completion for teams
#
#   teams completion zsh > "${fpath[1]}/_teams"
#
# or, for this shell alone: source <(teams completion zsh)

_teams() {
	local line value
	local -a described
	for line in "${(@f)$("${(Q)words[1]}" __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
		case $line in
		('') ;;
		(:files) _files && return ;;
		(:dirs) _files -/ && return ;;
		(*)
			value=${line%%$'\t'*}
			value=${value//:/\\:}
			if [[ $line == *$'\t'* ]]; then
				described+=("$value:${line#*$'\t'}")
			else
				described+=("$value")
			fi
			;;
		esac
	done
	_describe -t values 'teams' described
}

if [[ ${funcstack[1]} == _teams ]]; then
	_teams "$@"
else
	compdef _teams teams
fi
