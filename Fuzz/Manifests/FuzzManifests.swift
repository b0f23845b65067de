import LarderManifest
import Pace

/// Reads an input as a manifest. A first line `?ENTRIES NAME ICON` sets the paths.
///
/// Reading from memory, through a pipe, and across the end of the reader's buffer must give the
/// same result.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzManifests(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard count <= PipedBytes.limit else { return -1 }
    var bytes = Array(UnsafeBufferPointer(start: data, count: count))
    var rules = ManifestRules()
    if bytes.first == UInt8(ascii: "?") {
        let line = bytes.prefix { $0 != 0x0A }
        bytes.removeFirst(min(line.count + 1, bytes.count))
        rules = ManifestRules(places: String(decoding: line.dropFirst(), as: UTF8.self))
    }
    let whole = Pace.keep(bytes.count) { Reading(of: .bytes(bytes, name: "input"), rules: rules) }
    if let long = Pace.stretched(bytes) {
        // There may be 131,072 entries.
        Pace.keep(long.count, least: 2_000_000_000) {
            _ = Reading(of: .bytes(long, name: "input"), rules: rules)
        }
    }
    PipedBytes.hand(bytes) { descriptor in
        let piped = Reading(of: .descriptor(descriptor, name: "input"), rules: rules)
        guard piped == whole else { fatalError("from a pipe: \(piped), from memory: \(whole)") }
    }
    // One in eight inputs, because skipping the blanks takes longest.
    if count % 8 == 0, let first = bytes.first, "[{<".utf8.contains(first) {
        let blanks = [UInt8](repeating: 0x20, count: buffer - bytes.count / 2)
        let split = Reading(of: .bytes(blanks + bytes, name: "input"), rules: rules)
        guard split.agrees(with: whole) else {
            fatalError("across a buffer's end: \(split), from memory: \(whole)")
        }
    }
    let narrow = ManifestLimits(maximumDepth: 3, maximumEntrySize: 256, maximumPipedSize: 512)
    _ = Reading(of: .bytes(bytes, name: "input"), rules: rules, limits: narrow)
    return 0
}

/// The size of the reader's buffer.
private let buffer = 256 << 10

extension ManifestRules {
    /// - Parameter places: Paths separated by blanks. Invalid paths are ignored.
    fileprivate init(places: String) {
        self.init()
        let paths = places.split(separator: " ", omittingEmptySubsequences: false)
            .map { try? ManifestPath(String($0)) }
        entries = paths.first?.map { [$0] } ?? []
        nameKey = paths.dropFirst().first ?? nil
        iconKeys = paths.dropFirst(2).compactMap(\.self)
        icons = IconSelection.allCases[places.utf8.count % IconSelection.allCases.count]
    }
}
