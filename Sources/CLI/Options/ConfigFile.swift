import ArgumentParser
import Foundation
import LarderCache
import LarderCore
import Synchronization

/// The user's configuration file: options for all commands, and sections for individual ones.
struct ConfigFile {
    struct Line: Equatable {
        let number: Int
        let section: String?
        let name: String
        let value: String?

        var argument: String { (value.map { "\(name)=\($0)" } ?? name).expandingHome }
    }

    static let variable = "LARDER_CONFIG_PATH"
    static let exclusion = "--no-config"
    static let inUse = Mutex<ConfigFile?>(nil)

    private static let maximumSize = 64 << 10
    private static let maximumLines = 1_000
    private static let onlyForCommandLine = ["--help", "--help-all", "--version", exclusion]

    let path: String
    let lines: [Line]
    var used: [Line] = []

    static func withoutExclusion(_ arguments: [String]) -> [String] {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        return arguments[..<end].filter { $0 != exclusion } + arguments[end...]
    }

    static func load(
        for command: NamedCommand,
        environment: [String: String] = ProcessInfo.variables
    ) throws -> ConfigFile? {
        let named = environment[variable]
        if named?.isEmpty == true { return nil }
        let path = named?.expandingHome ?? defaultPath(environment)
        var status = stat()
        // After `su`, the home directory may be unreadable. A broken link is an error.
        let isMissing = lstat(path, &status) != 0 && [ENOENT, ENOTDIR, EACCES].contains(errno)
        if isMissing, named == nil { return nil }
        return try ConfigFile(path, bytes(of: path), for: command)
    }

    static func defaultPath(_ environment: [String: String]) -> String {
        userFolder("XDG_CONFIG_HOME", else: ".config", in: environment) + "/larder.conf"
    }

    private static func bytes(of path: String) throws -> [UInt8] {
        do throws(CacheError) {
            // Opening a pipe would block until another process writes to it.
            let file = try FileDescriptor.open(path, flags: O_RDONLY | O_NONBLOCK)
            // A device such as /dev/null counts as an empty file.
            guard [S_IFREG, S_IFCHR].contains(try file.status().st_mode & S_IFMT) else {
                throw CacheError(.unusable, subject: path, message: "not a regular file")
            }
            let bytes = try file.read(at: 0, atMost: maximumSize + 1)
            if bytes.count <= maximumSize { return bytes }
        } catch {
            throw MissingInputError(
                description: "\(error); use \(exclusion) to run without the configuration file")
        }
        throw ValidationError("\(path): the configuration file is larger than 64 KiB")
    }

    init(_ path: String, _ bytes: [UInt8], for command: NamedCommand) throws {
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
        let newline = UInt8(ascii: "\n")
        try refuse(
            if: text.count { $0 == newline } > Self.maximumLines,
            "\(path): the configuration file has more than \(Self.maximumLines) lines")
        let commands = NamedCommand.program.descendants.filter { !$0.isGroup }
        var reader = Reader(commands: [command] + commands)
        self.path = path
        lines = try text.split(separator: newline, omittingEmptySubsequences: false)
            .enumerated().compactMap { index, row in
                do throws(ValidationError) {
                    return try reader.line(row, number: index + 1)
                } catch {
                    throw ValidationError("\(path):\(index + 1): \(error.message)")
                }
            }
    }

    private struct Reader {
        let commands: [NamedCommand]
        var section: NamedCommand?

        mutating func line(_ row: ArraySlice<UInt8>, number: Int) throws(ValidationError) -> Line? {
            let row = (row.last == UInt8(ascii: "\r") ? row.dropLast() : row).trimmingBlanks
            guard let text = String(validating: row, as: UTF8.self) else {
                throw ValidationError("the line is not UTF-8")
            }
            guard let first = row.first, first != UInt8(ascii: "#") else { return nil }
            try refuse(
                if: text.isBinary || row.contains(UInt8(ascii: "\r")),
                "the line has a control character")
            if first == UInt8(ascii: "[") {
                section = try command(named: row)
                return nil
            }
            let end = row.firstIndex { $0 == UInt8(ascii: "=") || $0.isBlank } ?? row.endIndex
            let name = String(decoding: row[..<end], as: UTF8.self)
            var rest = row[end...].drop { $0.isBlank }
            let hasValue = !rest.isEmpty
            if rest.first == UInt8(ascii: "=") { rest = rest.dropFirst().drop { $0.isBlank } }
            try check(name, hasValue: hasValue)
            return Line(
                number: number, section: section?.name, name: name,
                value: hasValue ? String(decoding: rest, as: UTF8.self) : nil)
        }

        private func command(named row: ArraySlice<UInt8>) throws(ValidationError) -> NamedCommand {
            try refuse(
                if: row.last != UInt8(ascii: "]"),
                "a section is a command in brackets, such as [prefetch]")
            let name = row.dropFirst().dropLast().split { $0.isBlank }
                .map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
            guard let command = commands.first(where: { $0.name == name }) else {
                let hint = NearestName.hint(for: name, among: commands.map(\.name))
                throw ValidationError("unknown command \(name.quoted(limit: 40))\(hint)")
            }
            return command
        }

        /// Messages omit the value, which may be a password.
        private func check(_ name: String, hasValue: Bool) throws(ValidationError) {
            try refuse(
                if: !name.hasPrefix("--"),
                "\(name.quoted(limit: 40)) is not a long option, such as --max-concurrent=8")
            try refuse(
                if: ConfigFile.onlyForCommandLine.contains(name),
                "'\(name)' belongs on the command line")
            let candidates = section.map { [$0] } ?? commands
            guard let option = candidates.lazy.compactMap({ $0.options[name] }).first else {
                let known = Set(candidates.flatMap(\.options.keys))
                let hint = NearestName.hint(forOption: name, among: known)
                let owner = section.map { "'\($0.name)' does not have the" } ?? "unknown"
                throw ValidationError("\(owner) option \(name.quoted(limit: 40))\(hint)")
            }
            try refuse(
                if: option.takesValue != hasValue,
                option.takesValue
                    ? "'\(name)' needs a value: \(name)=VALUE" : "'\(name)' takes no value")
        }
    }
}
