# fish completion for teams
#
#   teams completion fish > ~/.config/fish/completions/teams.fish
#
# or, for this shell alone: teams completion fish | source

function __teams_complete
	set -l words (commandline -opc)
	set -l current (commandline -ct)
	set -l program $words[1]
	set -e words[1]
	for line in ($program __complete -- $words "$current" 2>/dev/null)
		switch $line
			case :files
				__fish_complete_path "$current"
			case :dirs
				__fish_complete_directories "$current" ''
			case '*'
				echo $line
		end
	end
end

complete -c teams -f -a '(__teams_complete)'
