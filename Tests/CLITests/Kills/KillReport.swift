import Foundation

/// What a run's `--report` file has said so far; its last line may be torn.
struct KillReport {
    /// The URLs whose bytes it called stored.
    let stored: Set<String>

    private struct Line: Decodable {
        let url: String?
        let outcome: String
        let digest: String?
    }

    /// Reads whole lines alone; none where the file was not made yet.
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
