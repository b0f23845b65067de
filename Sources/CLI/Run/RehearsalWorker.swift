import ArgumentParser
import Foundation
import LarderCache
import LarderRehearsal

/// One strategy of a comparison, in a process of its own, so that what the process has in memory is
/// the strategy's doing.
///
/// The process has the options of the one that compares, and finds in a directory what that has
/// read: a manifest or a trace may be a pipe. Its standard input ends when it is to end.
struct RehearsalWorker: ExpressibleByArgument {
    let strategy: StrategyName
    let directory: String

    init(_ strategy: StrategyName, in directory: String) {
        self.strategy = strategy
        self.directory = directory
    }

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let strategy = StrategyName(rawValue: String(parts[0])) else {
            return nil
        }
        self.init(strategy, in: String(parts[1]))
    }

    var argument: String { "\(strategy.rawValue):\(directory)" }

    /// The trace that was named, if one was.
    var traceFile: String? {
        let file = "\(directory)/trace.jsonl"
        return access(file, F_OK) == 0 ? file : nil
    }

    private var rowsFile: String { "\(directory)/rows.txt" }
    private var reportFile: String { "\(directory)/\(strategy.rawValue).json" }

    /// Leaves there what the processes are to find.
    static func prepare(_ directory: String, _ rows: TableRows, _ trace: ScrollTrace?) throws {
        try OutputFile.write(
            (0..<rows.count).map { "\(rows[$0] ?? "")\n" }.joined(),
            to: "\(directory)/rows.txt")
        if let trace { try OutputFile.write(trace.text, to: "\(directory)/trace.jsonl") }
    }

    /// The table.
    func readRows() throws -> TableRows {
        let lines = try Data(contentsOf: URL(fileURLWithPath: rowsFile))
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
        return TableRows(
            lines.lazy.map { $0.isEmpty ? nil : String(decoding: $0, as: UTF8.self) })
    }

    func write(_ report: StrategyReport) throws {
        let text = try JSONEncoder().encode(report)
        try OutputFile.write(String(decoding: text, as: UTF8.self), to: reportFile)
    }

    /// What the process has written; nil if it has not come so far.
    func readReport() throws -> StrategyReport? {
        guard let text = FileManager.default.contents(atPath: reportFile) else { return nil }
        return try JSONDecoder().decode(StrategyReport.self, from: text)
    }

    /// Calls `body` when the process that compares has ended, or wants this one to end.
    func onEndOfInput(_ body: @escaping @Sendable () -> Void) {
        let hasThread = HelperThread.start {
            var byte: UInt8 = 0
            while true {
                let count = read(STDIN_FILENO, &byte, 1)
                if count == 0 || count < 0 && errno != EINTR { return body() }
            }
        }
        // Nobody could end this process then.
        if !hasThread { body() }
    }
}
