import LarderManifest

/// The reason for which an icon was skipped, or failed, in the words of a report.
package protocol FailureCode: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    static var noIcon: Self { get }
    static var badEntry: Self { get }
    /// Whether the icon is skipped, and has not failed.
    var isSkip: Bool { get }
}

package struct IconFailure<Code: FailureCode>: Sendable, Equatable {
    package let code: Code
    /// The entry's name; text from outside.
    package let name: String
    /// Its URL, or another key; nil if there is none. Text from outside.
    package let url: String?
    /// The reason in words; text from outside may be in it.
    package let message: String

    init(_ code: Code, name: String = "", url: String? = nil, _ message: String) {
        self.code = code
        self.name = name
        self.url = url
        self.message = message
    }
}

/// The icons of a report that were skipped or have failed: all are counted, the first are kept.
package struct IconFailures<Code: FailureCode>: Sendable {
    package private(set) var counts: [Code: Int] = [:]
    /// The first 100 that failed.
    package private(set) var failures: [IconFailure<Code>] = []

    package var skipped: Int { counts.reduce(0) { $1.key.isSkip ? $0 + $1.value : $0 } }
    package var failed: Int { counts.reduce(0) { $1.key.isSkip ? $0 : $0 + $1.value } }

    mutating func note(_ failure: IconFailure<Code>) {
        counts[failure.code, default: 0] += 1
        if !failure.code.isSkip, failures.count < 100 { failures.append(failure) }
    }

    mutating func noteSkipped(_ item: ManifestItem, _ reason: String) {
        note(IconFailure(.noIcon, name: item.name ?? "", reason))
    }

    mutating func noteBad(_ item: ManifestItem, _ error: EntryError) {
        let place = item.line.map { "line \($0)" } ?? "entry \(item.position)"
        note(IconFailure(.badEntry, name: item.name ?? "", "\(place): \(error.message)"))
    }
}

package typealias ExportFailure = IconFailure<ExportCode>

package enum ExportCode: String, FailureCode {
    // Skipped: nothing is wrong.
    case noIcon = "no-icon"
    /// The manifest has the icon itself, and there is no URL that an app would ask for.
    case noURL = "no-url"
    case notAnImage = "not-an-image"
    /// Xcode does not accept images of that type.
    case unsupportedType = "unsupported-type"
    case notShown = "not-shown"

    // Failed.
    case badEntry = "bad-entry"
    case missing
    /// Its object is gone, or has other bytes.
    case corrupt
    case integrityMismatch = "integrity-mismatch"
    case sizeMismatch = "size-mismatch"
    case unreadable
    /// Something that is not a file is in its place, or its name is too long.
    case obstructed
    /// Another icon has the same name, and other bytes.
    case ambiguous

    package var isSkip: Bool {
        [.noIcon, .noURL, .notAnImage, .unsupportedType, .notShown].contains(self)
    }
}

package typealias ImportFailure = IconFailure<ImportCode>

/// The reason for which an icon was not imported, though a file may exist.
package enum ImportCode: String, FailureCode {
    // Skipped: nothing is wrong.
    case noIcon = "no-icon"
    /// The manifest has the icon itself: prefetch stores it.
    case noURL = "no-url"

    // Failed.
    case badEntry = "bad-entry"
    /// A link, a directory or a pipe is in the place of the file.
    case notAFile = "not-a-file"
    case unreadable
    /// The library has stored the body of an error.
    case errorResponse = "error-response"
    case tooLarge = "too-large"
    case notAnImage = "not-an-image"
    /// The manifest or the directory's list demands other bytes.
    case integrityMismatch = "integrity-mismatch"
    case sizeMismatch = "size-mismatch"
    case unstored

    package var isSkip: Bool { self == .noIcon || self == .noURL }
}
