import LarderCache

/// The list of files in a directory of Jake Wharton's DiskLruCache, version 1, which Coil and Glide
/// have copies of.
struct JournalForm: Sendable {
    static let file = "journal"
    /// The journal's name while the library replaces it. The library reads this file if there is no
    /// other.
    static let backup = "journal.bkp"

    /// The application's version, as the library has it; another one makes it delete everything.
    let appVersion: Int
    /// How many files there are for a key. The last has the bytes, the others are empty.
    let valueCount: Int

    var header: String { "libcore.io.DiskLruCache\n1\n\(appVersion)\n\(valueCount)\n\n" }

    /// The line of a key whose files are whole.
    ///
    /// - Parameter sizes: of its files, in their order, with a space before each.
    func line(_ stem: String, sizes: String) -> String { "CLEAN \(stem)\(sizes)\n" }

    func files(_ stem: String) -> [String] { (0..<valueCount).map { "\(stem).\($0)" } }

    /// The name of a file until the library has written it to its end.
    static func unfinished(_ file: String) -> String { file + ".tmp" }

    func dataFile(_ stem: String) -> String { "\(stem).\(valueCount - 1)" }

    func emptyFiles(_ stem: String) -> [String] { (0..<valueCount - 1).map { "\(stem).\($0)" } }

    /// The key of a file's name; nil if it is none of a key's files.
    func stem(ofFile name: String) -> String? {
        let stem = String(decoding: name.utf8.prefix(64), as: UTF8.self)
        let isOwn = stem.isHex(64) && (0..<valueCount).contains { name.isSame(as: "\(stem).\($0)") }
        return isOwn ? stem : nil
    }
}
