import Foundation
import Synchronization

/// What the image of each URL looks like, so that another row's image is known as one whoever hands
/// it over.
package final class ImageIdentities: Sendable {
    private static let unknown: UInt64 = 0
    /// Its server sends another image each time.
    private static let several: UInt64 = 1

    private let rows: TableRows
    /// By the number of a URL.
    private let prints: Mutex<[UInt64]>

    package init(_ rows: TableRows) {
        self.rows = rows
        prints = Mutex(Array(repeating: Self.unknown, count: rows.urlCount))
    }

    /// Notes what has come over the link for a URL.
    package func note(_ data: Data, of url: String) {
        guard let number = rows.number(of: url) else { return }
        let print = Self.print(of: data)
        prints.withLock { prints in
            let known = prints[number]
            prints[number] = known == Self.unknown || known == print ? print : Self.several
        }
    }

    /// Whether this may be the image of the URL. What was not downloaded is taken for it when it is
    /// first seen.
    package func accept(_ data: Data, of url: String) -> Bool {
        guard let number = rows.number(of: url) else { return false }
        let print = Self.print(of: data)
        return prints.withLock { prints in
            if prints[number] == Self.unknown { prints[number] = print }
            return [print, Self.several].contains(prints[number])
        }
    }

    /// Of the length and both ends: the whole would take the main thread's time.
    private static func print(of data: Data) -> UInt64 {
        var print = UInt64(data.count)
        func add(_ part: Data) {
            part.withUnsafeBytes { bytes in
                for byte in bytes { print = (print ^ UInt64(byte)) &* 0x100_0000_01B3 }
            }
        }
        add(data.prefix(512))
        add(data.suffix(512))
        return max(print, several + 1)
    }
}
