import Foundation
import LarderManifest

/// The rows of a table: the URL of each entry's icon, in the order of the manifests.
///
/// All URLs lie in one buffer, and what is to be counted for each URL has its place from the
/// beginning, so that a rehearsal of a million rows takes no more memory in the end than at first.
struct TableRows: Sendable {
    private var text: [UInt8] = []
    /// Where each row's URL ends; it begins where the last one does.
    private var ends: [Int] = []
    /// Digests of all URLs, ascending, each once; for ``number(of:)``.
    private var digests: [UInt64] = []

    init() {}

    /// - Parameter urls: nil for an entry without an icon that could be loaded.
    init(_ urls: some Sequence<String?>) {
        urls.forEach { add($0) }
        number()
    }

    mutating func add(_ url: String?) {
        text += (url ?? "").utf8
        ends.append(text.count)
    }

    /// Numbers the URLs, once all are there.
    mutating func number() {
        var all: [UInt64] = []
        for row in ends.indices {
            if let digest = digest(of: row) { all.append(digest) }
        }
        all.sort()
        digests = []
        for digest in all where digest != digests.last { digests.append(digest) }
    }

    var count: Int { ends.count }

    /// How many different URLs there are.
    var urlCount: Int { digests.count }

    /// How many rows have no icon.
    var withoutIcon: Int { ends.indices.count { bytes(of: $0).isEmpty } }

    /// The URL of a row's icon; nil if it has none.
    subscript(row: Int) -> String? {
        let bytes = bytes(of: row)
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// The number of a row's URL, from 0 on; rows of one URL have the same. Nil of all others.
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

    /// FNV-1a, of 64 bits.
    private static func digest(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

extension TableRows {
    /// The entries of a manifest: a row for each, with the first of its icons.
    ///
    /// - Parameters:
    ///   - source: where the manifest is.
    ///   - rules: how it is read.
    ///   - complain: called for each entry that is wrong, with what is; it is a row without icon.
    /// - Throws: as `ManifestReader.read`.
    static func read(
        _ source: ManifestSource, _ rules: ManifestRules, complain: (String) -> Void
    ) throws -> TableRows {
        var rows = TableRows()
        let summary = try ManifestReader(source: source, rules: rules).read { item in
            guard item.icon == 1 else { return }
            switch item.result {
            // As an app has it: `URL` percent-encodes more than libcurl does.
            case .entry(let entry): rows.add(URL(string: entry.icon.string)?.absoluteString)
            case .inline, .skipped: rows.add(nil)
            case .failed(let error):
                rows.add(nil)
                complain(
                    "\(source.name.sanitizedForTerminal): entry \(item.position): "
                        + error.message)
            }
        }
        if let refusal = summary.refusal(of: source) { throw refusal }
        rows.number()
        return rows
    }
}
