import LarderManifest

package struct LocalizeReport: Sendable {
    package internal(set) var format = ManifestFormat.json
    /// The name of the manifest's shape, if it is known.
    package internal(set) var shape: String?
    /// The number of icon values, without blank ones.
    package internal(set) var icons = 0
    /// The number of icon values with a new value, without placeholders.
    package internal(set) var localized = 0
    /// The number of icon values of an earlier run.
    package internal(set) var unchanged = 0
    /// The number of icon values that are never fetched, by kind.
    package internal(set) var kinds: [String: Int] = [:]  // text: kinds
    /// The number of failed icons with a placeholder.
    package internal(set) var placeholders = 0
    package internal(set) var problems = IconFailures<ExportCode>()
    /// The number of http and https URLs of images that are left in the output.
    package internal(set) var remaining = 0
    /// The number of new files, and their size.
    package internal(set) var files = 0
    package internal(set) var bytes: Int64 = 0
    package internal(set) var isInterrupted = false
    package internal(set) var seconds: Double = 0

    /// Whether the output differs from the manifest.
    package var hasChanges: Bool { localized + placeholders > 0 }
}
