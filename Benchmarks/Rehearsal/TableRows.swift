import Foundation
import LarderManifest

/// The icon URLs of a table's rows, in the order of the manifest.
///
/// All URLs are in one buffer and numbered before the scroll, so that memory does not grow during a
/// rehearsal.
struct TableRows: Sendable {
    private var text: [UInt8] = []
    /// The end of each row's URL in ``text``, which begins at the previous end.
    private var ends: [Int] = []
    /// The distinct digests of the URLs, in ascending order.
    private var digests: [UInt64] = []

    init() {}

    /// - Parameter urls: A nil element is a row without an icon URL.
    init(_ urls: some Sequence<String?>) {
        urls.forEach { add($0) }
        number()
    }

    mutating func add(_ url: String?) {
        text += (url ?? "").utf8
        ends.append(text.count)
    }

    /// Numbers the distinct URLs. Call this after the last ``add(_:)``.
    mutating func number() {
        var all = ends.indices.compactMap { digest(of: $0) }
        all.sort()
        digests = []
        for digest in all where digest != digests.last { digests.append(digest) }
    }

    var count: Int { ends.count }

    var urlCount: Int { digests.count }

    var withoutIcon: Int { ends.indices.count { bytes(of: $0).isEmpty } }

    subscript(row: Int) -> String? {
        let bytes = bytes(of: row)
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the number of a URL, from 0 to `urlCount - 1`, or nil if no row has the URL.
    func number(of url: String) -> Int? {
        let digest = Self.digest(url.utf8)
        var (low, high) = (0, digests.count)
        while low < high {
            let middle = (low + high) / 2
            if digests[middle] < digest { low = middle + 1 } else { high = middle }
        }
        return low < digests.count && digests[low] == digest ? low : nil
    }

    private func bytes(of row: Int) -> ArraySlice<UInt8> {
        text[(row == 0 ? 0 : ends[row - 1])..<ends[row]]
    }

    private func digest(of row: Int) -> UInt64? {
        let bytes = bytes(of: row)
        return bytes.isEmpty ? nil : Self.digest(bytes)
    }

    private static func digest(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

extension TableRows {
    /// Reads a manifest. Each entry is a row with its first icon.
    ///
    /// - Parameter complain: Called for each invalid entry, which becomes a row without an icon.
    static func read(
        _ source: ManifestSource, _ rules: ManifestRules, complain: (String) -> Void
    ) throws -> TableRows {
        var rows = TableRows()
        let summary = try ManifestReader(source: source, rules: rules).read { item in
            guard item.icon == 1 else { return }
            switch item.result {
            // Apps use the spelling of `URL`, which percent-encodes more than libcurl.
            case .entry(let entry): rows.add(URL(string: entry.icon.string)?.absoluteString)
            case .inline, .skipped, .unfetched: rows.add(nil)
            case .failed(let error):
                rows.add(nil)
                let name = source.name.sanitizedForTerminal
                complain("\(name): entry \(item.position): \(error.message)")
            }
        }
        if let refusal = summary.refusal(of: source) { throw refusal }
        rows.number()
        return rows
    }
}
