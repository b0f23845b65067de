/// Where the words of a command line have led to.
struct CommandLineState {
    let command: CommandInfo
    /// The option whose value comes next.
    private(set) var awaiting: ArgumentInfo?
    /// Whether `--` has ended the options.
    private(set) var isTerminated = false
    /// The value of `--cache`.
    private(set) var cache: String?
    /// The first option that the command does not have.
    private(set) var unknown: String?
    private var used: Set<String> = []
    private var positionals = 0

    /// - Parameter words: those after the command's name, all of them typed to their end.
    init(_ command: CommandInfo, _ words: [String]) {
        self.command = command
        for word in words { take(word) }
    }

    private mutating func take(_ word: String) {
        if let option = awaiting {
            awaiting = nil
            if option.spellings == ["--cache"] { cache = word }
        } else if isTerminated || word == "-" || !word.hasPrefix("-") {
            positionals += 1
        } else if word == "--" {
            isTerminated = true
        } else {
            let name = String(word.prefix { $0 != "=" })
            guard let option = command.option(name) else {
                unknown = unknown ?? name
                return
            }
            used.formUnion(option.spellings)
            if option.kind == .option, name == word { awaiting = option }
            if name == "--cache", name != word { cache = String(word.dropFirst(name.count + 1)) }
        }
    }

    /// The argument that comes next; nil if there is none.
    var positional: ArgumentInfo? {
        let all = command.positionals
        if positionals < all.count { return all[positionals] }
        return all.last.flatMap { $0.isRepeating ? $0 : nil }
    }

    /// The options that may still be given.
    var unusedOptions: [ArgumentInfo] {
        command.options.filter { $0.isRepeating || used.isDisjoint(with: $0.spellings) }
    }
}
