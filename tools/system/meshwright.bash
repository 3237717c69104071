# SPDX-License-Identifier: GPL-3.0-or-later
# Completion for bash: commands, options and their values, as the programs themselves say them by --help and
# by `meshwright list`. Run as a script it prints what a line can be gone on with, which zsh takes
# (_meshwright):
#
#     bash meshwright.bash 'meshwright plan --clu'

# The --help of words, an option a line at least.
_meshwright_help() {
    ARGP_HELP_FMT=rmargin=9999 "$@" --help 2>/dev/null </dev/null
}

# The options of a help text on standard input: a line "-o --output FILE" each, where one of the first two
# may lack, and the last, what the value is called.
_meshwright_options() {
    sed -nE 's/^ +(-[^- ,])?(, )?(--[a-z-]+)?(\[?[= ])?([^ ]*)( .*)?$/\1 \3 \5/p' |
        sed -nE '/^-| --/ { s/^ +//; s/ +/ /g; p }'
}

# The models, files of a kind, or folders that begin as $1; $2 is a pattern of the names of files.
_meshwright_files() {
    local path
    for path in "$1"*; do
        if [ -d "$path" ]; then
            echo "$path/"
        elif [ -e "$path" ] && [[ $path == $2 ]]; then
            echo "$path"
        fi
    done
}

# The values that are called $1, for the option or command $2 of the words in `words`, begun as $3.
_meshwright_values() {
    local part model
    case $1 in
    MODEL.graph)
        _meshwright_files "$3" '*.graph'
        "$program" list models 2>/dev/null
        ;;
    SIZE=VALUE)
        for model in "${words[@]}"; do
            [[ $model == *.graph ]] || continue
            "$program" list sizes "$model" 2>/dev/null | sed 's/=.*/=/'
        done
        ;;
    PASS) "$program" list passes ;;
    MODEL.onnx*) _meshwright_files "$3" '*.@(onnx|graph)' ;;
    FILE.plan | OUT* | A | PLAN | TEXT...) _meshwright_files "$3" '*' ;;
    PROBLEM.json*) _meshwright_files "$3" '*.json?(.gz)' ;;
    DIR | FOLDER | CHECKPOINT) _meshwright_files "$3" '' ;;
    FEED) sed -nE '/^ +--feed FEED/,/^ +--[^f]/ s/^ {20,}([a-z0-9]+:?)[^ ]* .*/\1/p' <<<"$help" ;;
    *)
        for part in ${1//|/ }; do
            case $2=$part in
            --cluster=FILE) _meshwright_files "$3" '*.cluster' ;;
            --cluster=NAME) "$program" list clusters ;;
            --cluster=local:N) printf 'local:%d\n' 1 2 4 8 ;;
            schedule=NAME | --schedule=NAME) "$program" list schedules ;;
            *=FILE | *=MAP) _meshwright_files "$3" '*' ;;
            *=*[A-Z]*) ;; # it stands for something that is not known here
            *) echo "$part" ;;
            esac
        done
        ;;
    esac
}

# What stands in the place of an argument, of a usage text on standard input.
_meshwright_arguments() {
    sed -nE 's/^ *([Uu]sage|or): .*\[(OPTION...|options)\] ?([^ ]+).*/\3/p; s/^usage: .* (FILE\.plan) .*/\1/p'
}

# Prints the words, whole, that the last word of the line $1 can become.
_meshwright_candidates() {
    local -a words
    local cur= last= help= option= name= program
    read -ra words <<<"$1"
    [[ $1 == *[[:space:]] ]] || { cur=${words[-1]}; unset 'words[-1]'; }
    # Where the programs are, if they are not in PATH.
    program=${words[0]/%meshwright-@(run|solve)/meshwright}
    local -a called=("${words[0]}")
    if [[ ${words[0]} == *meshwright ]]; then
        if [ ${#words[@]} -eq 1 ]; then
            _meshwright_help "$program" | sed -nE 's/^  ([a-z]+)  .*/\1/p'
            printf '%s\n' --help --version
            return
        fi
        called+=("${words[1]}")
    fi
    help=$(_meshwright_help "${called[@]}")
    last=${words[-1]}
    # The value of an option: in the word after it, after "=", or in the same word as a letter.
    case $cur in
    --*=*) option=${cur%%=*} cur=${cur#*=} name=$option= ;;
    -D*) option=-D cur=${cur#-D} name=-D ;;
    *) [[ $last == -* ]] && option=$last ;;
    esac
    if [ -n "$option" ]; then
        local line value=
        while read -r line; do
            [[ " $line " == *" $option "* ]] && value=${line##* }
        done < <(_meshwright_options <<<"$help")
        if [ -n "$value" ] && [[ $value != -* ]]; then
            _meshwright_values "$value" "$option" "$cur" | sed "s|^|$name|"
            return
        fi
    fi
    if [[ $cur == -* ]]; then
        _meshwright_options <<<"$help" | tr ' ' '\n' | grep -e '^-'
        return
    fi
    local arguments=() kind
    mapfile -t arguments < <(_meshwright_arguments <<<"$help")
    [[ ${called[1]-} == list && ${words[2]-} == sizes ]] && arguments=(MODEL.graph)
    for kind in "${arguments[@]}"; do
        _meshwright_values "$kind" "${called[1]-}" "$cur"
    done
}

# Those of them that begin as the last word does, each once.
_meshwright_matches() {
    local cur=
    [[ $1 == *[[:space:]] ]] || cur=${1##*[[:space:]]}
    shopt -s extglob
    _meshwright_candidates "$1" | awk -v cur="$cur" 'index($0, cur) == 1 && !seen[$0]++'
}

# Readline takes "=" and ":" for ends of words, and wants the rest alone.
_meshwright() {
    local line=${COMP_LINE:0:COMP_POINT} cur= bash_cur=${COMP_WORDS[COMP_CWORD]} i
    [[ $line == *[[:space:]] ]] || cur=${line##*[[:space:]]}
    [[ $bash_cur == [=:] ]] && bash_cur=
    [[ $cur == *"$bash_cur" ]] || bash_cur=$cur
    mapfile -t COMPREPLY < <(_meshwright_matches "$line")
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=${COMPREPLY[i]:${#cur}-${#bash_cur}}
    done
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=:] ]] && compopt -o nospace 2>/dev/null
    return 0
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    _meshwright_matches "$1"
else
    complete -F _meshwright meshwright meshwright-run meshwright-solve
fi
