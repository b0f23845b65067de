import ArgumentParser
import Foundation
import LarderCache

/// What may stand at the end of a command line. The scripts of all shells ask it.
struct Completer {
    /// What a shell offers.
    enum Answer {
        case files, directories
        /// Words, each with what it means. Those that end in `/` are beginnings.
        case words([(word: String, meaning: String)])

        /// One line that says which, and one for each word.
        var text: String {
            switch self {
            case .files: "files\n"
            case .directories: "directories\n"
            case .words(let words):
                "words\n" + words.map { "\($0.word)\t\($0.meaning)\n" }.joined()
            }
        }
    }

    private let program: any ParsableCommand.Type

    init(program: any ParsableCommand.Type) { self.program = program }

    /// - Parameter words: those after the program's name; the last one is being typed.
    func answer(to words: [String]) throws -> Answer {
        // Whatever it takes: a shell waits for it, and then offers files.
        alarm(2)
        var words = words
        let current = words.popLast() ?? ""
        let isHelp = words.first == "help"
        let (command, rest) = NamedCommand(program: program)
            .find(isHelp ? Array(words.dropFirst()) : words)
        if isHelp {
            return current.hasPrefix("-")
                ? .matching([("--all", "Show all options.")], current)
                : names(of: command, matching: current)
        }
        guard command.isGroup else {
            return try answer(CommandLineState(CommandInfo(command), rest), current)
        }
        let info =
            try command.name.isEmpty ? CommandInfo(program: program) : CommandInfo(command)
        guard let option = rest.first else {
            return current.hasPrefix("-")
                ? .matching(info.options.flatMap(Self.words), current)
                : names(of: command, matching: current)
        }
        return rest.count == 1 ? info.option(option).map { values($0, current) } ?? .files : .files
    }

    private func answer(_ state: CommandLineState, _ current: String) -> Answer {
        if let option = state.awaiting { return values(option, current) }
        if !state.isTerminated, current.hasPrefix("-") {
            if let equals = current.firstIndex(of: "="),
                let option = state.command.option(String(current[..<equals]))
            {
                let value = current.index(after: equals)
                return values(option, String(current[value...]), after: current[..<value])
            }
            return .matching(state.unusedOptions.flatMap(Self.words), current)
        }
        guard let argument = state.positional else {
            return state.isTerminated
                ? .files : .matching(state.unusedOptions.flatMap(Self.words), current)
        }
        guard let kind = CachedNames.Kind(argument, of: state.command.name) else {
            return values(argument, current)
        }
        return .matching(
            CachedNames(kind, cache: state.cache).beginning(with: current).map { ($0, "") }, current
        )
    }

    /// - Parameter lead: what precedes the value in the same word.
    private func values(
        _ argument: ArgumentInfo, _ current: String, after lead: Substring = ""
    ) -> Answer {
        if let values = argument.allValues, !values.isEmpty {
            return .matching(values.map { (lead + $0, "") }, lead + current)
        }
        return ["dir", "directory"].contains(argument.valueName) ? .directories : .files
    }

    private func names(of group: NamedCommand, matching current: String) -> Answer {
        let commands = group.subcommands.map { ($0.word, $0.type.configuration.abstract) }
        let help = group.name.isEmpty ? [("help", "Show help.")] : []
        return .matching(commands + help, current)
    }

    private static func words(_ option: ArgumentInfo) -> [(String, String)] {
        option.spellings.filter { $0.hasPrefix("--") }.map { ($0, option.summary) }
    }
}

extension Completer.Answer {
    /// The words that begin so; files if none does, as without completions.
    fileprivate static func matching(
        _ words: [(word: String, meaning: String)], _ current: String
    ) -> Self {
        let words = words.filter { $0.word.utf8.starts(with: current.utf8) }
        return words.isEmpty ? .files : .words(words)
    }
}

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

/// The URLs and keys that a cache knows, a part of a path at a time, as files are completed: what
/// is read is bounded by what is shown, however many there are.
struct CachedNames {
    enum Kind {
        case cached, pinned

        /// Nil if the argument names something else.
        init?(_ argument: ArgumentInfo, of command: String) {
            let names = ["url", "url|key|manifest"]
            guard argument.kind == .positional, names.contains(argument.valueName ?? "") else {
                return nil
            }
            self = command == "unpin" ? .pinned : .cached
        }
    }

    private static let most = 200
    /// Nobody types more, and nobody could read it.
    private static let longest = 2048

    private let kind: Kind
    private let directory: String?

    /// - Parameter cache: the value of `--cache`; nil if it was not given.
    init(_ kind: Kind, cache: String?) {
        self.kind = kind
        directory = cache
    }

    /// What may follow a beginning, up to the next `/`: nothing if the cache cannot be read now.
    func beginning(with text: String) -> [String] {
        let arguments = directory.map { ["--cache", expanded($0)] } ?? []
        guard let options = try? CacheOptions.parse(arguments),
            let cache = try? Cache.open(at: options.path)
        else { return [] }
        return (try? names(in: cache, beginningWith: text)) ?? []
    }

    private func names(in cache: Cache, beginningWith text: String) throws -> [String] {
        var names: [String] = []
        var start = text
        for _ in 0..<Self.most {
            guard let key = try cache.firstKey(from: start, arePinned: kind == .pinned),
                key.utf8.starts(with: text.utf8)
            else { return names.filter(Self.isShowable) }
            let name = Self.part(of: key, after: text.utf8.count)
            names.append(name)
            // Behind it, and behind all that it is the beginning of.
            let isBeginning = name.utf8.last == UInt8(ascii: "/")
            start =
                isBeginning
                ? String(decoding: name.utf8.dropLast() + "0".utf8, as: UTF8.self)
                : name + "\u{1}"
        }
        // The shell inserts what all words have in common: that of the first ones and the last one
        // is that of all.
        if let last = try cache.lastKey(beginningWith: text, arePinned: kind == .pinned) {
            names.append(Self.part(of: last, after: text.utf8.count))
        }
        return names.filter(Self.isShowable)
    }

    /// A key up to the `/` that ends the part of the path at an offset; a host is one, too.
    private static func part(of key: String, after offset: Int) -> String {
        let bytes = Array(key.utf8)
        let scheme = bytes.firstRange(of: "://".utf8)?.upperBound ?? 0
        let from = max(offset, scheme)
        guard from < bytes.count,
            let slash = bytes[from...].firstIndex(of: UInt8(ascii: "/"))
        else { return key }
        return String(decoding: bytes[...slash], as: UTF8.self)
    }

    /// Secrets are not shown, and nothing that a terminal would obey.
    private static func isShowable(_ name: String) -> Bool {
        name.utf8.count <= longest && name.shownAsURL.utf8.elementsEqual(name.utf8)
    }

    private func expanded(_ path: String) -> String {
        guard path.hasPrefix("~/"), let home = getenv("HOME") else { return path }
        return String(cString: home) + path.dropFirst()
    }
}
