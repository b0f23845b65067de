import Foundation
import Testing

/// An independent reader of a DiskLruCache directory. It follows the rules of the library's
/// `readJournal` and `processJournal`.
struct DiskLruJournal {
    struct Wrong: Error, CustomStringConvertible { let description: String }

    /// The file lengths of each clean key.
    private(set) var entries: [String: [Int]] = [:]
    /// The clean keys, the least recently used first.
    private(set) var order: [String] = []

    init(at directory: String, appVersion: Int, valueCount: Int) throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/journal"))
        // DiskLruCache ignores a last line without a line feed.
        guard bytes.last == 0x0A else { throw Wrong(description: "no line feed at the end") }
        let lines = String(decoding: bytes.dropLast(), as: UTF8.self)
            .components(separatedBy: "\n")
        let head = ["libcore.io.DiskLruCache", "1", "\(appVersion)", "\(valueCount)", ""]
        guard Array(lines.prefix(5)) == head else {
            throw Wrong(description: "unexpected header \(lines.prefix(5))")
        }
        var dirty: Set<String> = []
        for line in lines.dropFirst(5) {
            let words = line.components(separatedBy: " ")
            guard words.count >= 2, words[1].wholeMatch(of: /[a-z0-9_-]{1,64}/) != nil else {
                throw Wrong(description: "unexpected line \(line)")
            }
            order.removeAll { $0 == words[1] }
            if words[0] != "REMOVE" { order.append(words[1]) }
            switch (words[0], words.count) {
            case ("CLEAN", 2 + valueCount):
                let lengths = try words.dropFirst(2).map { word in
                    guard let length = Int(word) else {
                        throw Wrong(description: "unexpected line \(line)")
                    }
                    return length
                }
                entries[words[1]] = lengths
                dirty.remove(words[1])
            case ("DIRTY", 2): dirty.insert(words[1])
            case ("READ", 2): break
            case ("REMOVE", 2): entries[words[1]] = nil
            default: throw Wrong(description: "unexpected line \(line)")
            }
        }
        for key in dirty { entries[key] = nil }
        order.removeAll { entries[$0] == nil }
        // A clean entry has all of its files, with the recorded lengths.
        for (key, lengths) in entries {
            for (index, length) in lengths.enumerated() {
                let path = "\(directory)/\(key).\(index)"
                let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
                guard size == length else {
                    throw Wrong(description: "\(path) has \(size ?? -1) bytes, not \(length)")
                }
            }
        }
    }
}
