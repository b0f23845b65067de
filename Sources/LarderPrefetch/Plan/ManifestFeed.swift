import Foundation
import LarderCache
import LarderManifest

/// Reads manifests on a thread of its own, ahead of the planner.
final class ManifestFeed: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `condition`, but for
    // `batch`, `batchBytes` and `input`, which belong to the reading thread.

    enum Message {
        /// Opening the next manifest; a download may take a while.
        case begin(Int)
        /// Items of a manifest, and the share of it that was read, if known.
        case items([ManifestItem], of: Int, share: Double?)
        case end(ManifestSummary)
    }

    /// The maximum number of items in a message, and of bytes in them.
    private static let batchLimit = 256
    private static let batchByteLimit = 256 << 10
    private static let capacity = 4

    private let condition = NSCondition()
    private var messages: [Message] = []
    private var result: Result<Void, any Error>?
    private var isClosed = false

    private var batch: [ManifestItem] = []
    private var batchBytes = 0
    private var input: ByteInput?

    init(_ manifests: [ManifestSource], rules: ManifestRules) {
        // Parsers call themselves for each level of nesting.
        let hasThread = HelperThread.start(stackSize: 4 << 20) { [self] in
            finish(Result { try read(manifests, rules) })
        }
        if !hasThread { finish(.failure(HelperThread.shortage)) }
    }

    /// Returns the next message, or nil at the end.
    ///
    /// - Parameter isCancelled: Called several times a second. Default: never cancelled.
    /// - Throws: The error that ended the reading, after all messages before it;
    ///   `CancellationError`.
    func next(unless isCancelled: () -> Bool = { false }) throws -> Message? {
        condition.lock()
        defer { condition.unlock() }
        while messages.isEmpty, result == nil {
            // A manifest may be silent, or have much that is no entry.
            _ = condition.wait(until: Date(timeIntervalSinceNow: 0.05))
            if isCancelled() { throw CancellationError() }
        }
        guard messages.isEmpty else {
            defer { condition.signal() }
            return messages.removeFirst()
        }
        try result?.get()
        return nil
    }

    /// Ends the reading soon. Does not wait: a pipe that is being read may be silent.
    func close() {
        condition.withLock {
            isClosed = true
            condition.signal()
        }
    }

    // MARK: - On the reading thread

    private func read(_ manifests: [ManifestSource], _ rules: ManifestRules) throws {
        for (number, manifest) in manifests.enumerated() {
            input = nil
            try send(.begin(number))
            let reader = ManifestReader(source: manifest, rules: rules)
            let summary = try reader.read(opened: { opened in
                input = opened
                opened.isCancelled = { [unowned self] in condition.withLock { isClosed } }
            }) { item in
                batch.append(item)
                batchBytes += item.weight
                if batch.count >= Self.batchLimit || batchBytes >= Self.batchByteLimit {
                    try sendBatch(of: number)
                }
            }
            try sendBatch(of: number)
            try send(.end(summary))
        }
    }

    private func sendBatch(of manifest: Int) throws {
        guard !batch.isEmpty else { return }
        let items = batch
        (batch, batchBytes) = ([], 0)
        batch.reserveCapacity(Self.batchLimit)
        try send(.items(items, of: manifest, share: input?.shareRead))
    }

    private func send(_ message: Message) throws {
        condition.lock()
        defer { condition.unlock() }
        while messages.count >= Self.capacity, !isClosed { condition.wait() }
        if isClosed { throw CancellationError() }
        messages.append(message)
        condition.signal()
    }

    private func finish(_ result: Result<Void, any Error>) {
        condition.withLock {
            self.result = result
            condition.signal()
        }
    }
}

extension ManifestItem {
    /// The number of bytes that the manifest has for it.
    fileprivate var weight: Int {
        switch result {
        case .entry(let entry):
            entry.name.utf8.count + entry.icon.string.utf8.count + (entry.key?.utf8.count ?? 0)
        case .inline(let entry):
            entry.name.utf8.count + entry.bytes.count + entry.resourceKey.utf8.count
        case .skipped, .failed: name?.utf8.count ?? 0
        }
    }
}
