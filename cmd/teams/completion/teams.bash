# bash completion for teams
#
#   teams completion bash > ~/.local/share/bash-completion/completions/teams
#
# or, for this shell alone: source <(teams completion bash)

_teams() {
	local rest=$COMP_LINE word joined= strip= i line
	local -a words=()

	# bash breaks words at "=" and ":" too: join what no blank separates.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if ((i > 0)) && [[ $rest != [[:space:]]* ]]; then
			joined=${words[${#words[@]} - 1]}
			words[${#words[@]} - 1]=$joined$word
		else
			words+=("$word")
		fi
		rest=${rest#"${rest%%[![:space:]]*}"}
		rest=${rest#"$word"}
	done

	# Only the last piece is replaced, so what stands before it must go.
	strip=${words[${#words[@]} - 1]}
	if [[ $word != [=:] ]]; then
		strip=${strip%"$word"}
	fi

	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files)
			compopt -o filenames 2>/dev/null
			while IFS= read -r line; do
				COMPREPLY+=("$line")
			done < <(compgen -f -- "${words[${#words[@]} - 1]#"$strip"}")
			;;
		:dirs)
			compopt -o filenames 2>/dev/null
			while IFS= read -r line; do
				COMPREPLY+=("$line")
			done < <(compgen -d -- "${words[${#words[@]} - 1]#"$strip"}")
			;;
		*)
			line=${line%%$'\t'*}
			COMPREPLY+=("${line#"$strip"}")
			;;
		esac
	done < <("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
}

complete -F _teams teams
