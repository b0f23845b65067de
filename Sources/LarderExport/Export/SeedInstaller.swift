import Foundation
import LarderCache
import LarderCore

// all text: generated source code for an app that reads its own files.

/// A Swift source file that installs an exported directory for an app's image library at launch.
///
/// The app rewrites the files because the bundle may lose dates and permissions, and the library
/// cannot replace a read-only file.
package struct SeedInstaller: Sendable {
    private let seed: AppSeed
    private let folders: [String]
    private let directory: String
    private let fingerprint: Digest

    /// Reads all files of an export. Returns nil if the layout has no installer or if cancelled.
    /// The app's bundle must contain `directory`, the export's DIR, under the same name.
    package init?(
        _ report: ExportReport, directory: String, folder: String? = nil,
        isCancelled: () -> Bool = { false }
    ) throws {
        guard let library = report.layout.library(in: folder), let seed = library.seed,
            let fingerprint = try Self.fingerprint(of: report.directory, isCancelled: isCancelled)
        else { return nil }
        self.seed = seed
        folders = library.folders
        self.directory = URL(fileURLWithPath: directory).standardizedFileURL.lastPathComponent
        self.fingerprint = fingerprint
    }

    /// Returns an order-independent digest of the names and bytes of visible files; nil if
    /// cancelled. Throws for sparse files, which can take too long to read.
    private static func fingerprint(
        of directory: String, isCancelled: () -> Bool
    ) throws -> Digest? {
        let directory = try UsersPath(directory).directory()
        let readFiles = try ReadFiles()
        var sum = [UInt8](repeating: 0, count: Digest.byteCount)
        var isEnded = false
        try directory.forEachEntry { name in
            guard !isEnded, name.utf8.first != UInt8(ascii: "."),
                let status = try directory.status(of: name), status.isRegularFile
            else { return }
            guard status.st_size <= status.plausibleBytes else {
                throw CacheError(
                    .unusable, subject: directory.path(of: name),
                    message: "is a sparse file, which exports never create; remove the file")
            }
            let digest = try readFiles.digest(of: directory.file(name), isCancelled: isCancelled)
            isEnded = digest == nil || isCancelled()
            guard let digest else { return }
            let file = Digest(of: Array("\(digest.hex) \(name)".utf8))
            for (index, byte) in file.bytes.enumerated() { sum[index] ^= byte }
        }
        return isEnded ? nil : Digest(of: sum)
    }

    /// The generated code that sets the dates of the file at `temporary`.
    private var stamp: String {
        let dates: String
        switch seed.dates {
        case .expiry:
            dates = """
                                    // \(seed.library) interprets these dates as the last access and
                                    // the expiration date.
                                    let dates: [FileAttributeKey: Any] = [
                                        .creationDate: Date(),
                                        .modificationDate: Date(timeIntervalSinceNow: lifetime),
                                    ]
                """
        case .modification:
            dates = """
                                    // SDWebImage before 5.20 removes files 7 days after this date.
                                    let dates: [FileAttributeKey: Any] = [
                                        .modificationDate: Date(timeIntervalSinceNow: lifetime)
                                    ]
                """
        case .any: return ""
        }
        return """

            \(dates)
                                try files.setAttributes(dates, ofItemAtPath: temporary.path)
            """
    }

    private var lifetime: String {
        guard seed.dates != .any else { return "" }
        let use = seed.dates == .expiry ? "\n    /// Each use renews the lifetime." : ""
        return """

                /// The lifetime of the icons in seconds: ten years.\(use)
                static let lifetime: TimeInterval = 10 * 365 * 86_400
            """
    }

    private var modified: String {
        guard seed.dates == .expiry else { return "" }
        return """

                private static func modified(_ file: URL) throws -> Date {
                    let values = try FileManager.default.attributesOfItem(atPath: file.path)
                    return values[.modificationDate] as? Date ?? .distantPast
                }

            """
    }

    package var source: String {
        let library = seed.library
        // The generated condition that `file` has not expired.
        let isUsable = seed.dates == .expiry ? " try modified(file) > Date()," : ""
        let folder = folders.joined(separator: "/").swiftLiteral
        return """
            // Generated by larder export --installer. Do not edit this file. Generate it again
            // after each export.
            import Foundation

            /// Installs the app's bundled icons into the cache directory of \(library).
            enum Larder\(library)Seed {
                /// Identifies this export.
                static let fingerprint = "\(fingerprint.hex)"
                /// The directory of \(library)'s cache, relative to Library/Caches.
                static let folder = \(folder)
                /// The bundled seed. Add the exported directory to the app as a folder reference.
                static var bundled: URL? {
                    Bundle.main.resourceURL?.appendingPathComponent(\(directory.swiftLiteral))
                }\(lifetime)

                /// Copies missing icons and replaces icons of an earlier seed, once for each seed,
                /// and again if the system has emptied the directory. Keeps icons that the app has
                /// loaded. Call this function at launch,
                /// \(seed.moment).
                ///
                /// - Parameters:
                ///   - seed: The exported directory.
                ///   - caches: The app's Library/Caches.
                /// - Returns: The number of copied files, and the number of failed files. The next
                ///   call copies failed files again.
                @discardableResult
                static func install(
                    from seed: URL? = bundled, into caches: URL? = nil
                ) throws -> (copied: Int, failed: Int) {
                    let files = FileManager.default
                    let caches =
                        try caches
                        ?? files.url(
                            for: .cachesDirectory, in: .userDomainMask, appropriateFor: nil,
                            create: true)
                    let target = caches.appendingPathComponent(folder)
                    // The installed seed's fingerprint, and a line for each file. \(library)
                    // ignores hidden files.
                    let mark = target.appendingPathComponent(".larder-seed")
                    let lines = ((try? String(contentsOf: mark, encoding: .utf8)) ?? "")
                        .split(separator: "\\n")
                    guard let seed, lines.first.map(String.init) != fingerprint else {
                        return (0, 0)
                    }
                    let earlier = Set(lines.dropFirst().map(String.init))
                    var current: Set<String> = []
                    var settled: Set<String> = []
                    var (copied, failed) = (0, 0)
                    let source = seed.appendingPathComponent(folder)
                    try files.createDirectory(at: target, withIntermediateDirectories: true)
                    let names = try files.contentsOfDirectory(atPath: source.path).filter { name in
                        let values = try? source.appendingPathComponent(name)
                            .resourceValues(forKeys: [.isRegularFileKey])
                        return !name.hasPrefix(".") && values?.isRegularFile == true
                    }
                    // The mark is written first because the app may end before the last file is
                    // copied.
                    var planned = earlier
                    for name in names {
                        let original = source.appendingPathComponent(name)
                        pooled {
                            guard let bytes = try? Data(contentsOf: original) else { return }
                            planned.insert(line(name, bytes))
                        }
                    }
                    try note("unfinished", planned, in: mark)
                    for name in names {
                        do {
                            try pooled {
                                let bytes = try Data(
                                    contentsOf: source.appendingPathComponent(name))
                                let file = target.appendingPathComponent(name)
                                if let old = try? Data(contentsOf: file),\(isUsable)
                                    old == bytes || !earlier.contains(line(name, old))
                                {
                                    if old == bytes { current.insert(line(name, bytes)) }
                                    return
                                }
                                // Writing, unlike copying, sets new permissions and dates.
                                let temporary = target.appendingPathComponent(".larder-partial")
                                try bytes.write(to: temporary)\(stamp)
                                guard rename(temporary.path, file.path) == 0 else {
                                    throw CocoaError(.fileWriteUnknown)
                                }
                                current.insert(line(name, bytes))
                                copied += 1
                            }
                            settled.insert(escaped(name))
                        } catch {
                            failed += 1
                        }
                    }
                    // Lines of files of earlier seeds are kept, so that later seeds can replace
                    // the files.
                    current.formUnion(earlier.filter { entry in
                        let name = String(entry.prefix { $0 != " " })
                        guard !settled.contains(name), let file = name.removingPercentEncoding
                        else { return false }
                        return files.fileExists(atPath: target.appendingPathComponent(file).path)
                    })
                    try note(failed == 0 ? fingerprint : "unfinished", current, in: mark)
                    return (copied, failed)
                }

                private static func note(
                    _ state: String, _ lines: Set<String>, in mark: URL
                ) throws {
                    let text = ([state] + lines).joined(separator: "\\n")
                    try text.write(to: mark, atomically: true, encoding: .utf8)
                }
            \(modified)
                /// Identifies a file by its name and a digest of its bytes (FNV-1a).
                private static func line(_ name: String, _ bytes: Data) -> String {
                    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
                    for byte in bytes { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
                    return "\\(escaped(name)) \\(digest) \\(bytes.count)"
                }

                private static func escaped(_ name: String) -> String {
                    name.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? ""
                }

                private static func pooled(_ body: () throws -> Void) rethrows {
                    #if canImport(ObjectiveC)
                        try autoreleasepool(invoking: body)
                    #else
                        try body()
                    #endif
                }
            }

            """
    }
}

extension String {
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
