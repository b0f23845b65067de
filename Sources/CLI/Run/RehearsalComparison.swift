import Foundation
import LarderCache
import LarderRehearsal
import Synchronization

/// A rehearsal with each strategy, one after another, each in a process of its own.
final class RehearsalComparison: Sendable {
    private let rows: TableRows
    private let trace: ScrollTrace?
    private let interrupts: Interrupts
    /// What the process that runs takes for a sign to go on.
    private let input = Mutex<Pipe?>(nil)

    /// - Parameter trace: nil if the options alone say how to scroll.
    init(_ rows: TableRows, _ trace: ScrollTrace?, _ interrupts: Interrupts) {
        self.rows = rows
        self.trace = trace
        self.interrupts = interrupts
    }

    /// - Returns: the reports of those that have come to one.
    func run(_ strategies: [StrategyName]) async throws -> [StrategyReport] {
        let directory = try ScratchDirectory(named: "larder-comparison")
        defer { directory.remove() }
        interrupts.ask("ending the rehearsal") { [self] in
            input.withLock { try? $0?.fileHandleForWriting.close() }
        }
        try RehearsalWorker.prepare(directory.path, rows, trace)
        var reports: [StrategyReport] = []
        for strategy in strategies where interrupts.signal == nil {
            let worker = RehearsalWorker(strategy, in: directory.path)
            let status = try await run(worker)
            guard let report = try worker.readReport() else {
                if interrupts.signal != nil { break }
                throw Failure(strategy: strategy, status: status)
            }
            reports.append(report)
        }
        return reports
    }

    private func run(_ worker: RehearsalWorker) async throws -> Int32 {
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        var arguments = CommandLine.arguments
        // Behind the command's name: what comes after `--` is no option.
        arguments[0...1] = ["rehearse", "--worker", worker.argument]
        process.arguments = arguments
        let pipe = Pipe()
        process.standardInput = pipe
        input.withLock { $0 = pipe }
        return try await withCheckedThrowingContinuation { waiter in
            process.terminationHandler = { waiter.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
                // A signal may have come before there was anything to close.
                if interrupts.signal != nil {
                    input.withLock { try? $0?.fileHandleForWriting.close() }
                }
            } catch {
                process.terminationHandler = nil
                waiter.resume(throwing: error)
            }
        }
    }

    /// A process that ended without a report; it has said why.
    private struct Failure: Error, CustomStringConvertible {
        let strategy: StrategyName
        let status: Int32

        var description: String {
            "the rehearsal of \(strategy.rawValue) ended with status \(status)"
        }
    }
}
