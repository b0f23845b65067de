import ArgumentParser
import Foundation

/// The script that makes a shell complete larder's command lines: it asks ``Completer``.
struct CompletionScript {
    private static let option = "--generate-completion-script"

    let shell: Shell

    /// Nil if the arguments do not ask for one.
    ///
    /// - Throws: `ValidationError` if they name no shell.
    init?(_ arguments: [String]) throws {
        guard let first = arguments.first else { return nil }
        var name = arguments.dropFirst().first
        if first.hasPrefix(Self.option + "=") {
            name = String(first.dropFirst(Self.option.count + 1))
        } else if first != Self.option {
            return nil
        }
        let login = ProcessInfo.processInfo.environment["SHELL"]?.split(separator: "/").last
        guard let shell = (name ?? login.map(String.init)).flatMap(Shell.init) else {
            let names = Shell.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("\(Self.option) needs the name of a shell: \(names).")
        }
        self.shell = shell
    }

    var text: String {
        switch shell {
        case .bash: Self.bash
        case .zsh: Self.zsh
        case .fish: Self.fish
        }
    }

    private static let bash = #"""
        # bash completion for larder. Bash 3.2 reads it, too.
        _larder() {
            local line=${COMP_LINE:0:COMP_POINT} word='' current strip quote reply i
            local -a words=()
            COMPREPLY=()
            # Bash splits words also at ":" and "=": what no blank separates is one word.
            for ((i = 0; i <= COMP_CWORD; i++)); do
                word=${COMP_WORDS[i]}
                if [[ $i -eq 0 || $line == [[:blank:]]* ]]; then
                    while [[ $line == [[:blank:]]* ]]; do line=${line#?}; done
                    words+=("")
                fi
                [[ $i -lt $COMP_CWORD ]] || word=$line
                words[${#words[@]} - 1]+=$word
                line=${line#"$word"}
            done
            current=${words[${#words[@]} - 1]}
            # Readline replaces only what is behind the last of them.
            strip=${current%"$word"}
            [[ -n ${word//[:=]/} ]] || strip=$current
            quote=${word:0:1}
            words=("${words[@]//[\"\'\\]/}")
            reply=$("${words[0]/#\~\//$HOME/}" ---complete "${words[@]:1}" 2>/dev/null) || return 0
            # Without an answer, readline offers files.
            case ${reply%%$'\n'*} in
            directories) compopt -o dirnames 2>/dev/null ;;
            words)
                while IFS=$'\t' read -r word _; do
                    case $quote in
                    \') word=${word//\'/\'\\\'\'} ;;
                    \") word=${word//\\/\\\\} word=${word//\"/\\\"}
                        word=${word//\$/\\\$} word=${word//\`/\\\`} ;;
                    *) printf -v word %q "$word" ;;
                    esac
                    [[ $word != */ ]] || compopt -o nospace 2>/dev/null
                    [[ $word != "$strip"* ]] || COMPREPLY+=("${word#"$strip"}")
                done <<<"${reply#*$'\n'}"
                ;;
            esac
        }
        complete -o bashdefault -o default -F _larder larder

        """#

    private static let zsh = #"""
        #compdef larder
        # zsh completion for larder
        _larder() {
            local program=${(Q)words[1]} line
            local -a lines names open shown shown_open
            lines=("${(@f)$("${program/#\~\//$HOME/}" ---complete "${(@Q)words[2,CURRENT-1]}" \
                "${(Q)PREFIX}" 2>/dev/null)}")
            if [[ $lines[1] == words ]]; then
                for line in $lines[2,-1]; do
                    # Behind a beginning, no blank is added.
                    if [[ ${line%%$'\t'*} == */ ]]; then
                        open+=("${line%%$'\t'*}")
                    else
                        names+=("${line%%$'\t'*}")
                        shown+=("${${line/$'\t'/  }%  }")
                    fi
                done
                local -i status_=1
                (( ! $#open )) || { compadd -S '' -- $open && status_=0 }
                (( ! $#names )) || { compadd -l -d shown -- $names && status_=0 }
                return status_
            fi
            [[ $PREFIX != --*=* ]] || compset -P '*='
            if [[ $lines[1] == directories ]]; then _files -/; else _files; fi
        }
        if [[ $funcstack[1] == _larder ]]; then _larder "$@"; else compdef _larder larder; fi

        """#

    private static let fish = #"""
        # fish completion for larder
        function __larder_complete
            set -l words (commandline -opc)
            set -l current (commandline -ct | string replace -ra '[\'"\\\\]' '')
            set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
            set -l reply (command $program ---complete $words[2..] "$current" 2>/dev/null)
            if test "$reply[1]" = words
                printf '%s\n' $reply[2..]
                return
            end
            set -l lead (string match -r -- '^--[^=]*=' "$current")
            set -l value (string replace -r -- '^--[^=]*=' '' "$current")
            if test "$reply[1]" = directories
                __fish_complete_directories "$value" '' | string replace -r '^' -- "$lead"
            else
                __fish_complete_path "$value" '' | string replace -r '^' -- "$lead"
            end
        end
        complete -c larder -e
        complete -c larder -f -a '(__larder_complete)'

        """#
}
