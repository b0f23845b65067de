import LarderManifest

package struct LocalizeReport: Sendable {
    package internal(set) var format = ManifestFormat.json
    package internal(set) var shape: String?
    /// The number of icon values that are not blank: the sum of ``localized``, ``unchanged``,
    /// ``kinds``, and the placeholders and failures of ``problems``.
    package internal(set) var icons = 0
    /// The number of icon values with a new value that is not a placeholder.
    package internal(set) var localized = 0
    package internal(set) var unchanged = 0
    package internal(set) var kinds: [String: Int] = [:]  // text: kinds
    package internal(set) var problems = ItemFailures<ExportCode>()
    /// The number of image URLs (http and https) in the output.
    package internal(set) var remaining = 0
    package internal(set) var files = 0
    package internal(set) var bytes: Int64 = 0
    package internal(set) var isInterrupted = false
    package internal(set) var seconds: Double = 0

    package var hasChanges: Bool { localized + problems.placeholders > 0 }
}
