import Foundation
import LarderCache
import LarderKit

/// The URLs and keys that a cache knows, a part of a path at a time, as files are completed: what
/// is read is bounded by what is shown, however many there are.
struct CachedNames {
    enum Kind {
        case cached, pinned

        /// Nil if the argument names something else.
        init?(_ argument: ArgumentInfo, of command: String) {
            let names = ["url", "url|key|manifest"]
            guard argument.kind == .positional, names.contains(argument.valueName ?? "") else {
                return nil
            }
            self = command == "unpin" ? .pinned : .cached
        }
    }

    private static let most = 200
    /// Nobody types more, and nobody could read it.
    private static let longest = 2048

    private let kind: Kind
    private let directory: String?

    /// - Parameter cache: the value of `--cache`; nil if it was not given.
    init(_ kind: Kind, cache: String?) {
        self.kind = kind
        directory = cache
    }

    /// What may follow a beginning, up to the next `/`: nothing if the cache cannot be read now.
    func beginning(with text: String) -> [String] {
        let arguments = directory.map { ["--cache", expanded($0)] } ?? []
        guard let options = try? CacheOptions.parse(arguments),
            let cache = try? Cache.open(at: options.path)
        else { return [] }
        return (try? names(in: cache, beginningWith: text)) ?? []
    }

    private func names(in cache: Cache, beginningWith text: String) throws -> [String] {
        var names: [String] = []
        var start = text
        for _ in 0..<Self.most {
            guard let key = try cache.firstKey(from: start, arePinned: kind == .pinned),
                key.utf8.starts(with: text.utf8)
            else { return names.filter(Self.isShowable) }
            let name = Self.part(of: key, after: text.utf8.count)
            names.append(name)
            // Behind it, and behind all that it is the beginning of.
            let isBeginning = name.utf8.last == UInt8(ascii: "/")
            start =
                isBeginning
                ? String(decoding: name.utf8.dropLast() + "0".utf8, as: UTF8.self)
                : name + "\u{1}"
        }
        // The shell inserts what all words have in common: that of the first ones and the last one
        // is that of all.
        if let last = try cache.lastKey(beginningWith: text, arePinned: kind == .pinned) {
            names.append(Self.part(of: last, after: text.utf8.count))
        }
        return names.filter(Self.isShowable)
    }

    /// A key up to the `/` that ends the part of the path at an offset; a host is one, too.
    private static func part(of key: String, after offset: Int) -> String {
        let bytes = Array(key.utf8)
        let scheme = bytes.firstRange(of: "://".utf8)?.upperBound ?? 0
        let from = max(offset, scheme)
        guard from < bytes.count,
            let slash = bytes[from...].firstIndex(of: UInt8(ascii: "/"))
        else { return key }
        return String(decoding: bytes[...slash], as: UTF8.self)
    }

    /// Secrets are not shown, and nothing that a terminal would obey.
    private static func isShowable(_ name: String) -> Bool {
        name.utf8.count <= longest && name.shownAsURL.utf8.elementsEqual(name.utf8)
    }

    private func expanded(_ path: String) -> String {
        guard path.hasPrefix("~/"), let home = getenv("HOME") else { return path }
        return String(cString: home) + path.dropFirst()
    }
}
