import LarderCache
import LarderKit
import LarderPresentation

/// What is done with a remote as a whole: it ends soon if it is interrupted, and reports all the
/// same.
struct RemoteUpkeep {
    let isQuiet: Bool
    let isJSON: Bool
    let colors: ColorOptions
    let run: CacheRun

    func evict(_ evictor: RemoteEvictor, _ policy: RemoteEvictor.Policy) async throws {
        let report = try await interruptible {
            try await evictor.evict(policy) { [line = run.line] in line.show($0.progress) }
        }
        say(report.json, report.text(isPart: policy.shard != nil))
        if report.isInterrupted { try run.interrupts.status.exit() }
    }

    func verify(_ verifier: RemoteVerifier, repairingFrom cache: Cache?) async throws {
        let report = try await interruptible {
            try await verifier.verify(repairingFrom: cache) { [line = run.line] in
                line.show($0.progress)
            }
        }
        say(
            report.json,
            report.text(
                colors.output, isPart: verifier.shard != nil, isRepair: cache != nil))
        if report.isInterrupted { try run.interrupts.status.exit() }
        guard !report.isSound else { return }
        if isQuiet { Console.complain(report.complaint) }
        try ExitStatus.someFailed.exit()
    }

    private func interruptible<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try ProcessLimits.requireTransfers()
        let task = Task(operation: body)
        run.interrupts.ask("ending what is begun") { task.cancel() }
        defer { run.line.clear() }
        return try await task.value
    }

    private func say(_ json: String, _ text: String) {
        if isJSON { print(json) } else if !isQuiet { print(text) }
    }
}
