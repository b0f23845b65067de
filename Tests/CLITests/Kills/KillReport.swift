import Foundation

/// The contents of a run's `--report` file. Its last line may be incomplete.
struct KillReport {
    /// The URLs that the report lists as stored.
    let stored: Set<String>

    private struct Line: Decodable {
        let url: String?
        let outcome: String
        let digest: String?
    }

    /// Reads complete lines only. A missing file is an empty report.
    init(path: String) throws {
        try self.init(FileManager.default.contents(atPath: path) ?? Data())
    }

    init(_ text: Data) throws {
        let whole = text.lastIndex(of: UInt8(ascii: "\n")).map { text[...$0] } ?? Data()
        let decoder = JSONDecoder()
        stored = Set(
            try whole.split(separator: UInt8(ascii: "\n")).compactMap { line in
                let line = try decoder.decode(Line.self, from: Data(line))
                let isStored = ["fetched", "revalidated", "cached", "coalesced"]
                return isStored.contains(line.outcome) ? line.url : nil
            })
    }
}
