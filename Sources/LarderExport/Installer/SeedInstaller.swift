import Foundation
import LarderCache

// all text: it is compared in the app, with what the app came with.

/// A source file for an app: it puts an exported directory that comes with the app to where the
/// library looks for it.
///
/// It writes the files anew, because neither dates nor rights survive every way into a bundle, and
/// a copy of a file that nobody may write cannot be replaced by the library.
public struct SeedInstaller: Sendable {
    private let layout: ExportLayout
    private let folders: [String]
    private let directory: String
    private let fingerprint: Digest

    /// - Parameters:
    ///   - report: of the export.
    ///   - directory: the directory that was exported to: its name is that of the bundle's folder.
    /// - Returns: nil of a layout that no app has a cache of, or none in Swift.
    public init?(_ report: ExportReport, directory: String) {
        guard Self.isPossible(report.layout),
            let keyed = report.layout.keyed(kingfisherVersion: 8)
        else { return nil }
        layout = report.layout
        folders = keyed.folders
        self.directory =
            URL(fileURLWithPath: directory).standardizedFileURL.lastPathComponent
        fingerprint = report.fingerprint
    }

    /// Whether there is one for a layout.
    public static func isPossible(_ layout: ExportLayout) -> Bool {
        [.nuke, .sdwebimage, .kingfisher].contains(layout)
    }

    private var library: String {
        switch layout {
        case .nuke: "Nuke"
        case .sdwebimage: "SDWebImage"
        default: "Kingfisher"
        }
    }

    /// When it must have been called.
    private var moment: String {
        switch layout {
        case .nuke: "before a pipeline with `.withDataCache` is made"
        case .sdwebimage: "before `SDImageCache.shared` is used"
        default: "before `ImageCache.default` is used, which remembers the files that it finds"
        }
    }

    /// What is done to the file at `temporary` before it gets its name.
    private var stamp: String {
        guard layout == .kingfisher else { return "" }
        return """

                        // Kingfisher takes these for the last access and for the expiry.
                        try files.setAttributes(
                            [
                                .creationDate: Date(),
                                .modificationDate: Date(timeIntervalSinceNow: lifetime),
                            ], ofItemAtPath: temporary.path)
            """
    }

    private var lifetime: String {
        guard layout == .kingfisher else { return "" }
        return """

                /// How long the icons are kept, in seconds: ten years, and as long again after
                /// each use.
                static let lifetime: TimeInterval = 10 * 365 * 86_400
            """
    }

    /// The file's text: Swift 5.9 and later, with Foundation alone.
    public var source: String {
        let folder = folders.joined(separator: "/").swiftLiteral
        return """
            // Made by larder export --installer. Do not edit it: make it anew with each export.
            import Foundation

            /// Puts the icons that come with the app to where \(library) looks for them.
            enum LarderSeed {
                /// Tells this seed from others.
                static let fingerprint = "\(fingerprint.hex)"
                /// The directory of \(library)'s cache, beneath Library/Caches.
                static let folder = \(folder)
                /// Where the seed is: add the exported directory to the app as a folder.
                static var bundled: URL? {
                    Bundle.main.resourceURL?.appendingPathComponent(\(directory.swiftLiteral))
                }\(lifetime)

                /// Copies what is not there yet; once for each seed, unless the system has emptied
                /// Library/Caches. Call it at launch,
                /// \(moment).
                ///
                /// - Parameters:
                ///   - seed: the exported directory.
                ///   - caches: the app's Library/Caches.
                /// - Returns: how many files were copied.
                @discardableResult
                static func install(
                    from seed: URL? = bundled, into caches: URL? = nil
                ) throws -> Int {
                    let files = FileManager.default
                    let caches =
                        try caches
                        ?? files.url(
                            for: .cachesDirectory, in: .userDomainMask, appropriateFor: nil,
                            create: true)
                    let mark = caches.appendingPathComponent(".larder-seed-\(layout.rawValue)")
                    let done = try? String(contentsOf: mark, encoding: .utf8)
                    guard let seed, done != fingerprint else { return 0 }
                    let source = seed.appendingPathComponent(folder)
                    let target = caches.appendingPathComponent(folder)
                    try files.createDirectory(at: target, withIntermediateDirectories: true)
                    var copied = 0
                    for name in try files.contentsOfDirectory(atPath: source.path) {
                        let file = target.appendingPathComponent(name)
                        if name.hasPrefix(".") || files.fileExists(atPath: file.path) { continue }
                        // Written, and not copied: with rights and dates of its own.
                        let temporary = target.appendingPathComponent(".larder-seed.partial")
                        let bytes = try Data(contentsOf: source.appendingPathComponent(name))
                        try bytes.write(to: temporary)\(stamp)
                        try files.moveItem(at: temporary, to: file)
                        copied += 1
                    }
                    try fingerprint.write(to: mark, atomically: true, encoding: .utf8)
                    return copied
                }
            }

            """
    }
}

extension String {
    /// The text as a literal of Swift.
    fileprivate var swiftLiteral: String {
        let scalars = unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case " "..."~": "\(scalar)"
            default: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return "\"\(scalars.joined())\""
    }
}
