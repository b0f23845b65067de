import Foundation
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache
@testable import LarderCore

extension Store {
    /// Stages bytes in pieces as a transfer does, and waits while the body is full.
    func stage(
        _ bytes: [UInt8], attributes: ObjectAttributes = ObjectAttributes()
    ) throws -> StagedObject {
        let body = try newBody { append in
            for start in stride(from: 0, to: bytes.count, by: 16 << 10) {
                let piece = bytes[start..<min(start + 16 << 10, bytes.count)]
                try piece.withUnsafeBytes(append)
            }
        }
        return try stage(body, digest: try body.finish(), attributes: attributes)
    }

    /// Adds a resource to the current batch.
    func add(
        _ content: Deposit.Content, at key: String, url: String? = nil, token: Int64 = 0,
        validators: Validators = Validators(), receivedAt: Date = Date(),
        for depositor: (any Depositor)? = nil
    ) {
        add(
            Deposit(
                context: token, key: key, url: url ?? key, validators: validators,
                receivedAt: receivedAt, content: content),
            for: depositor
        ) {}
    }

    /// Stores bytes and waits for the commit.
    func storeAtOnce(_ bytes: [UInt8]) throws -> Digest {
        try put(bytes, at: "stored at once")
        flush()
        return try Digest.reference(of: bytes)
    }

    /// Stages bytes and adds them to the current batch.
    func put(
        _ bytes: [UInt8], at key: String, token: Int64 = 0,
        for depositor: (any Depositor)? = nil
    ) throws {
        add(.staged(try stage(bytes)), at: key, token: token, for: depositor)
    }
}

extension Store.Outcome {
    /// The token given to ``Store/put(_:at:token:for:)``.
    var token: Int64? { context as? Int64 }
}

/// A depositor that calls a closure with every batch.
final class OnCommit: Depositor {
    private let report: @Sendable ([Store.Outcome]) -> Void

    init(_ report: @escaping @Sendable ([Store.Outcome]) -> Void) { self.report = report }

    func committed(_ outcomes: [Store.Outcome]) { report(outcomes) }
}

/// A depositor that collects the committed batches.
final class CommittedBatches: Depositor {
    private let store: Store
    private let state = Mutex<[[Store.Outcome]]>([])

    init(of store: Store) { self.store = store }

    func committed(_ outcomes: [Store.Outcome]) { state.withLock { $0.append(outcomes) } }

    func put(_ bytes: [UInt8], at key: String, token: Int64 = 0) throws {
        try store.put(bytes, at: key, token: token, for: self)
    }

    func add(
        _ content: Deposit.Content, at key: String, url: String? = nil, token: Int64 = 0,
        validators: Validators = Validators(), receivedAt: Date = Date()
    ) {
        store.add(
            content, at: key, url: url, token: token, validators: validators,
            receivedAt: receivedAt,
            for: self)
    }

    var sizes: [Int] { state.withLock { $0.map(\.count) } }
    var outcomes: [Store.Outcome] { state.withLock { $0.flatMap { $0 } } }
}

extension Cache {
    /// The two functions that open a cache.
    static let openings: [@Sendable (String) throws -> Cache] = [
        { try open(at: $0) }, { try create(at: $0) },
    ]

    /// Creates a cache with `contents`, stored in one batch.
    static func filled(at path: String, with contents: [String: [UInt8]]) throws -> Cache {
        let cache = try create(at: path)
        let store = try cache.store()
        for (key, bytes) in contents.sorted(by: { $0.key < $1.key }) {
            try store.put(bytes, at: key)
        }
        store.flush()
        store.close()
        return cache
    }

    /// Returns the bytes of every resource by key.
    func contents() throws -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        try forEachResource { contents[$0.key] = try bytes(of: $0.object) }
        return contents
    }

    /// Returns the path of the object that contains `bytes`.
    func file(of bytes: [UInt8]) throws -> String {
        absolutePath(of: try Digest.reference(of: bytes))
    }
}

extension Digest {
    /// Returns the digest of `bytes` without the code under test.
    static func reference(of bytes: [UInt8]) throws -> Digest {
        try #require(Digest(bytes: ReferenceSHA256.digest(bytes)))
    }
}
