import LarderCache
import LarderManifest

final class ManifestFeed: Sendable {
    enum Message: Sendable {
        case begin(Int)
        case items(
            [ManifestItem], values: [(position: Int, value: IconValue)], of: Int, share: Double?)
        case end(ManifestSummary)
    }

    private static let batchLimit = 256
    private static let batchByteLimit = 256 << 10

    private let channel = Channel<Message>(capacity: 4)

    init(_ manifests: [ManifestSource], rules: ManifestRules, sendsValues: Bool = false) {
        // The parsers are recursive, so deeply nested manifests need a large stack.
        let hasThread = HelperThread.start(stackSize: 4 << 20) { [self] in
            channel.finish(Result { try read(manifests, rules, sendsValues) })
        }
        if !hasThread { channel.finish(.failure(HelperThread.shortage)) }
    }

    func next(unless isCancelled: () -> Bool = { false }) throws -> [Message] {
        try channel.take(unless: isCancelled)
    }

    /// Does not wait for the thread, because it may be blocked reading a pipe.
    func close() { channel.abandon() }

    private func read(
        _ manifests: [ManifestSource], _ rules: ManifestRules, _ sendsValues: Bool
    ) throws {
        for (number, manifest) in manifests.enumerated() {
            try send(.begin(number))
            var input: ByteInput?
            var batch: [ManifestItem] = []
            var batchBytes = 0
            var values: [(position: Int, value: IconValue)] = []
            func sendBatch() throws {
                guard !batch.isEmpty || !values.isEmpty else { return }
                try send(.items(batch, values: values, of: number, share: input?.shareRead))
                (batch, values, batchBytes) = ([], [], 0)
                batch.reserveCapacity(Self.batchLimit)
            }
            func note(_ position: Int, _ found: [IconValue]) {
                values += found.map { (position: position, value: $0) }
                batchBytes += found.reduce(0) { $0 + $1.text.utf8.count }
            }
            let summary = try ManifestReader(source: manifest, rules: rules).read(
                opened: { opened in
                    input = opened
                    opened.isCancelled = { [channel] in !channel.hasConsumer }
                }, values: sendsValues ? note : nil
            ) { item in
                batch.append(item)
                batchBytes += item.approximateBytes
                if batch.count >= Self.batchLimit || batchBytes >= Self.batchByteLimit {
                    try sendBatch()
                }
            }
            try sendBatch()
            try send(.end(summary))
        }
    }

    private func send(_ message: Message) throws {
        guard channel.send([message]) else { throw CancellationError() }
    }
}

extension ManifestItem {
    fileprivate var approximateBytes: Int {
        let name = name?.utf8.count ?? 0
        let texts = name + (value?.text.utf8.count ?? 0)
        return switch result {
        case .entry(let entry):
            name + entry.icon.string.utf8.count + (entry.key?.utf8.count ?? 0)
        case .inline(let entry): texts + entry.bytes.count + entry.resourceKey.utf8.count
        case .unfetched, .skipped, .failed: texts
        }
    }
}
