import Foundation
import LarderCore

struct LockedIcons {
    struct Entry: Decodable {
        let icon, integrity: String
        let key: String?
        let size: Int

        func allows(_ digest: Digest, size: Int) -> Bool {
            let text = "sha256-" + Data(digest.bytes).base64EncodedString()
            return size == self.size && integrity.utf8.elementsEqual(text.utf8)
        }
    }

    private static let maximumSize = 64 << 20

    let path: String
    let name: String
    private let entries: [CacheKey: [Entry]]

    subscript(url: HTTPURL) -> [Entry] { entries[CacheKey(url.key)] ?? [] }

    init(contentsOf file: URL) throws(OfflineIconsError) {
        path = file.path
        name = file.lastPathComponent.sanitizedForTerminal
        do {
            // A longer lock is cut off, so it cannot be decoded.
            let text = try FileHandle(forReadingFrom: file).read(upToCount: Self.maximumSize)
            let list = try JSONDecoder().decode([Entry].self, from: text ?? Data())
            // A lock can also contain `data:` URLs.
            let known = list.compactMap { entry in (try? HTTPURL(entry.icon)).map { ($0, entry) } }
            entries = Dictionary(grouping: known) { CacheKey($0.0.key) }
                .mapValues { $0.map(\.1) }
        } catch {
            throw OfflineIconsError(
                .manifest, subject: file.path,
                message: "cannot be read as a lock of at most \(Self.maximumSize >> 20) MiB;"
                    + " write one with `larder prefetch MANIFEST --write-lock FILE`",
                underlying: error)
        }
    }
}
