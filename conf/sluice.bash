# SPDX-License-Identifier: BSD-2-Clause
# Completion for bash: commands, options and settings as the tool itself lists them.
_sluice_options() { # words of the help that are options
	"$@" --help 2>&1 | grep -oE -- '(^|[][ (|,])--?[a-zA-Z0-9][-a-z0-9_]*' | tr -d '][ (|,' | sort -u
}
_sluice() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} tool=${COMP_WORDS[0]} command=${COMP_WORDS[1]}
	local words=()
	case $tool in
	*vma_stats | *mlnx_qos | *tc_wrap | *tc_wrap.py) command= ;;
	*)
		if [ "$COMP_CWORD" = 1 ]; then
			mapfile -t COMPREPLY < <(compgen -W "$("$tool" help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')" -- "$cur")
			return
		fi
		;;
	esac
	case $prev in
	-p | --pid) mapfile -t words < <(compgen -G '/proc/[0-9]*' | sed 's,/proc/,,') ;;
	-d | -i | --device | --interface)
		if [[ $command:$prev != qos:-d && $tool:$prev != *mlnx_qos:-d ]] && [ "$command" != stat ] && [[ $command || $tool == *mlnx_qos || $tool == *tc_wrap* ]]; then
			mapfile -t words < <(ls /sys/class/net)
		fi
		;;
	esac
	if [ ${#words[@]} = 0 ]; then
		if [ "$command" = run ] && [[ $cur != -* ]]; then # a setting, or the program
			mapfile -t words < <("$tool" run --help-settings 2>/dev/null | grep -o '^ *SLUICE_[A-Z0-9_]*' | sed 's/^ *//; s/$/=/')
			mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$cur"; compgen -c -- "$cur")
			[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace
			return
		fi
		if [ "$COMP_CWORD" = 2 ] && [[ $cur != -* ]]; then # what rule, flow and daemon do
			mapfile -t words < <("$tool" "$command" --help 2>&1 |
				sed -n "s/.*sluice $command \\[\\?\\([a-z][a-z|-]*\\).*/\\1/p" | tr '|' '\n' | sort -u)
		else
			mapfile -t words < <(_sluice_options "$tool" ${command:+"$command"})
		fi
	fi
	mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$cur")
}
complete -o default -F _sluice sluice vma_stats mlnx_qos tc_wrap tc_wrap.py
