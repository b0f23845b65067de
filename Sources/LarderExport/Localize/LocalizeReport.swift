import LarderManifest

package struct LocalizeReport: Sendable {
    package internal(set) var format = ManifestFormat.json
    package internal(set) var shape: String?
    /// Icon values, without blank ones: the sum of ``localized``, ``unchanged``, ``kinds``, and the
    /// placeholders and failures of ``problems``.
    package internal(set) var icons = 0
    /// Icon values with a new value, without placeholders.
    package internal(set) var localized = 0
    /// Icon values of an earlier run.
    package internal(set) var unchanged = 0
    /// Icon values that are never fetched, by kind.
    package internal(set) var kinds: [String: Int] = [:]  // text: kinds
    package internal(set) var problems = IconFailures<ExportCode>()
    /// URLs of images (http and https) that are left in the output.
    package internal(set) var remaining = 0
    /// New files, and their size.
    package internal(set) var files = 0
    package internal(set) var bytes: Int64 = 0
    package internal(set) var isInterrupted = false
    package internal(set) var seconds: Double = 0

    /// Whether the output differs from the manifest.
    package var hasChanges: Bool { localized + problems.placeholders > 0 }
}
