import Foundation
import LarderCache

/// Caches for benchmarks.
enum IconDirectory {
    static func temporary(_ body: (URL) async throws -> Void) async throws {
        let root = FileManager.default.temporaryDirectory
            .appendingPathComponent("icon-reads.\(getpid())")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        try await body(root)
    }

    /// Stores icons in batches, like a prefetch. Returns the file of each URL if `listsFiles` is
    /// true, else an empty array.
    ///
    /// - Parameter contents: The number of distinct objects, which URLs share.
    @discardableResult
    static func fill(
        _ path: String, _ numbers: Range<Int>, contents: Int, size: Int = 3_500,
        listsFiles: Bool = false
    ) throws -> [String] {
        let cache = try Cache.create(at: path)
        defer { cache.close() }
        let store = try cache.store()
        defer { store.close() }
        for number in numbers {
            var bytes = [UInt8](repeating: 7, count: size + number % contents % 97)
            withUnsafeBytes(of: number % contents) { bytes.replaceSubrange(0..<8, with: $0) }
            let body = try store.newBody { append in try bytes.withUnsafeBytes(append) }
            let staged = try store.stage(
                body, digest: body.finish(), attributes: ObjectAttributes())
            let key = Lookups.key(number)
            store.add(Deposit(key: key, url: key, receivedAt: Date(), content: .staged(staged)))
            if number % Store.batchLimit == 0 { store.flush() }
        }
        store.flush()
        guard listsFiles else { return [] }
        return try numbers.compactMap { number in
            try cache.resource(Lookups.key(number)).map { cache.absolutePath(of: $0.object.digest) }
        }
    }
}
