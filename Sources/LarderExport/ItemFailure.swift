import LarderManifest

package protocol FailureCode: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    static var badEntry: Self { get }
    var isSkip: Bool { get }
}

/// A failure to export or import an icon. All its text is untrusted.
package struct ItemFailure<Code: FailureCode>: Error, Equatable {
    package let code: Code
    package let name: String
    package let url: String?
    package let message: String

    init(_ code: Code, name: String = "", url: String? = nil, _ message: String) {
        (self.code, self.name, self.url, self.message) = (code, name, url, message)
    }
}

package struct ItemFailures<Code: FailureCode>: Sendable {
    package private(set) var counts: [Code: Int] = [:]
    package private(set) var failures: [ItemFailure<Code>] = []
    package private(set) var repeats = 0
    package private(set) var placeholders = 0

    package var skipped: Int { counts.reduce(0) { $1.key.isSkip ? $0 + $1.value : $0 } }
    package var failed: Int { counts.reduce(0) { $1.key.isSkip ? $0 : $0 + $1.value } }

    mutating func note(_ failure: ItemFailure<Code>, hasPlaceholder: Bool = false) {
        if hasPlaceholder { placeholders += 1 } else { counts[failure.code, default: 0] += 1 }
        if !failure.code.isSkip, failures.count < 100 { failures.append(failure) }
    }

    mutating func noteAgain(_ code: Code, count: Int = 1, hasPlaceholder: Bool) {
        if hasPlaceholder { placeholders += count } else { counts[code, default: 0] += count }
        repeats += count
    }

    mutating func noteSkipped(_ code: Code) { counts[code, default: 0] += 1 }

    mutating func noteBad(_ item: ManifestItem, _ error: EntryError) {
        let place = item.line.map { "line \($0)" } ?? "entry \(item.position)"
        note(ItemFailure(.badEntry, name: item.name ?? "", "\(place): \(error.message)"))
    }
}

package typealias ExportFailure = ItemFailure<ExportCode>

package enum ExportCode: String, FailureCode {
    case noIcon = "no-icon"
    case noURL = "no-url"
    case notAnImage = "not-an-image"
    case unsupportedType = "unsupported-type"
    case notShown = "not-shown"

    case badEntry = "bad-entry"
    case missing
    case corrupt
    case integrityMismatch = "integrity-mismatch"
    case sizeMismatch = "size-mismatch"
    case unreadable
    case obstructed
    case ambiguous
    case tooLarge = "too-large"
    case notResized = "not-resized"

    package var isSkip: Bool {
        [.noIcon, .noURL, .notAnImage, .unsupportedType, .notShown].contains(self)
    }
}

package typealias ImportFailure = ItemFailure<ImportCode>

package enum ImportCode: String, FailureCode {
    case noIcon = "no-icon"
    /// The icon has no http URL, for example a `data:` URL, which a prefetch stores.
    case noURL = "no-url"

    case badEntry = "bad-entry"
    case notAFile = "not-a-file"
    case unreadable
    case errorResponse = "error-response"
    case tooLarge = "too-large"
    case notAnImage = "not-an-image"
    /// The bytes do not match the manifest or the directory's `index.json`.
    case integrityMismatch = "integrity-mismatch"
    case sizeMismatch = "size-mismatch"
    case unstored

    package var isSkip: Bool { self == .noIcon || self == .noURL }
}
