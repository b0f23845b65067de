import ArgumentParser
import Foundation
import LarderCache
import LarderPrefetch
import Logging
import Synchronization

protocol RunCommand: CacheCommand {
    var locks: LockOptions { get }
    var isQuiet: Bool { get }
}

protocol ReportingCommand: RunCommand { var options: RunOptions { get } }

extension ReportingCommand {
    var cache: CacheOptions { options.cache }
    var output: RunOptions { options }
    var isQuiet: Bool { options.quiet }
}

final class CacheRun: Sendable {
    let interrupts: Interrupts
    let line: StatusLine
    let wait: LockWait
    private let counts = Mutex<[RunRecord.Count: Int64]>([:])

    private init(_ command: some RunCommand) {
        let interrupts = Interrupts(isQuiet: command.isQuiet)
        self.interrupts = interrupts
        line = Console.statusLine.start(isQuiet: command.isQuiet)
        wait = command.locks.wait(isQuiet: command.isQuiet) { interrupts.signal != nil }
    }

    /// Takes the `--exclusive` lock, then runs `body` like ``ExitStatus/of(_:_:)``.
    static func of(
        _ command: some RunCommand, needsLock: Bool = true, hasOneCache: Bool = true,
        makesCache: Bool = false, recordedAs record: RunRecord.Command? = nil,
        _ body: (CacheRun) async throws -> Void
    ) async throws {
        let (started, start) = (Date(), ContinuousClock.now)
        let (run, cache) = (CacheRun(command), command.cache)
        var lock: NamedLock?
        defer { withExtendedLifetime(lock) {} }
        let named = NamedCommand.program.descendants.first { $0.type == type(of: command) }
        let name = named?.line ?? "larder"
        let logger = Log.logger()
        logger?.info("\(name) begins", metadata: ["cache": "\(cache.absolutePath)"])
        let status = await ExitStatus.of(hasOneCache ? cache : nil) {
            // Network options are checked even if the run makes no requests.
            _ = try (command as? any NetworkCommand)?.prefetchConfiguration()
            if needsLock {
                lock = try command.locks.take(
                    on: cache, create: makesCache, for: name, wait: run.wait)
            }
            try await body(run)
        }
        logger?.info("ended", metadata: ["status": "\(status.rawValue)"])
        let unstarted = [ExitCode(ExitStatus.locked.rawValue), .validationFailure]
        if let record, !unstarted.contains(status) {
            RunRecord(
                record, started: started, ended: Date(),
                seconds: (ContinuousClock.now - start).seconds, exitStatus: status.rawValue,
                counts: run.counts.withLock { $0 }, version: LarderVersion.current
            ).save(inCacheAt: cache.path)
        }
        if !status.isSuccess { throw status }
    }

    func note(_ counts: [RunRecord.Count: Int64]) { self.counts.withLock { $0 = counts } }
}

extension ExitStatus {
    /// `allowance` does not apply to unfinished icons, because their outcome is unknown.
    init(_ report: Report, interruption: ExitStatus, allowance: FailureAllowance) {
        if report.isInterrupted {
            self = interruption
        } else if let failure = report.failure {
            self.init(failure.code)
        } else {
            let isDone =
                report.count(.unfinished) == 0 && report.remote?.isComplete ?? true
                && allowance.covers(report.count(.failed), of: report.icons)
            self = isDone ? .done : .someFailed
        }
    }

    static func of(_ command: some AsyncParsableCommand) async -> ExitCode {
        await of((command as? any CacheCommand)?.cache) {
            var command = command
            try await command.run()
        }
    }

    /// Runs `body`, prints its error, and returns the exit status. Adds the path of `cache` to
    /// relative names in errors. `cache` is nil if the command uses two caches.
    static func of(_ cache: CacheOptions?, _ body: () async throws -> Void) async -> ExitCode {
        do {
            var exit = ExitCode.success
            do {
                defer { Console.statusLine.clear() }
                try await body()
            } catch let code as ExitCode {
                exit = code
            }
            try Console.flush()
            return exit
        } catch {
            let located = (error as? CacheError).flatMap { error in
                cache.map { error.located(inCacheAt: $0.absolutePath) }
            }
            Console.complain("\(located ?? error)")
            return code(of: error)
        }
    }
}

/// The handler of SIGINT, SIGTERM and SIGHUP. A signal ends the process. After ``ask(_:_:)``, the
/// first signal only asks the run to stop. An ignored SIGHUP stays ignored, for nohup(1).
final class Interrupts: Sendable {
    private let isQuiet: Bool
    private let state = Mutex<(signal: Int32?, ask: (@Sendable () -> Void)?)>((nil, nil))
    var signal: Int32? { state.withLock { $0.signal } }

    init(isQuiet: Bool) {
        self.isQuiet = isQuiet
        for number in [SIGINT, SIGTERM, SIGHUP] where number != SIGHUP || !Self.isIgnored(number) {
            SignalWatch.start(number) { [self] in handle(number) }
        }
    }

    var status: ExitStatus { Self.status(of: signal ?? SIGINT) }

    private static func status(of signal: Int32) -> ExitStatus {
        signal == SIGINT ? .interrupted : .terminated
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        let former = Foundation.signal(number, SIG_IGN)
        // Functions cannot be compared, but their addresses can.
        let isIgnored = unsafeBitCast(former, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        if !isIgnored { _ = Foundation.signal(number, former) }
        return isIgnored
    }

    func ask(
        _ message: String = "finishing work in progress", _ ask: @escaping @Sendable () -> Void = {}
    ) {
        state.withLock { [isQuiet] state in
            state.ask = {
                if !isQuiet { Console.complain("\(message); interrupt again to exit at once") }
                ask()
            }
        }
    }

    /// Whether a signal has asked the run to stop. The first access calls ``ask(_:_:)``, because a
    /// run that checks this property can stop by itself.
    var isAsked: Bool {
        let (isAskable, isAsked) = state.withLock { ($0.ask != nil, $0.signal != nil) }
        if !isAskable { ask() }
        return isAsked
    }

    private func handle(_ number: Int32) {
        let (isFirst, ask) = state.withLock { state in
            let isFirst = state.signal == nil
            state.signal = state.signal ?? number
            return (isFirst, isFirst ? state.ask : nil)
        }
        // If no thread can be started, the run cannot stop by itself.
        if let ask, HelperThread.start({}) { return ask() }
        Console.statusLine.clear()
        // A quiet run has not reported the first signal.
        if isFirst || isQuiet { Console.complain("interrupted") }
        _exit(Self.status(of: number).rawValue)
    }
}
