import LarderManifest
import Pace

/// What the fuzzer calls with each input: a manifest, behind a first line `?ENTRIES NAME ICON` where its
/// places are to be named by hand.
///
/// It is read from memory, through a pipe, and behind so many blanks that the reader's buffer ends within it,
/// all of which must agree, and within narrow limits.
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
        // An entry takes its time, and may be one of 131,072 lines.
        Pace.keep(long.count, least: 2_000_000_000) {
            _ = Reading(of: .bytes(long, name: "input"), rules: rules)
        }
    }
    PipedBytes.hand(bytes) { descriptor in
        let piped = Reading(of: .descriptor(descriptor, name: "input"), rules: rules)
        guard piped == whole else { fatalError("through a pipe \(piped), else \(whole)") }
    }
    // One in eight, since passing over the blanks takes longer than all the rest.
    if count % 8 == 0, let first = bytes.first, "[{<".utf8.contains(first) {
        let blanks = [UInt8](repeating: 0x20, count: buffer - bytes.count / 2)
        let split = Reading(of: .bytes(blanks + bytes, name: "input"), rules: rules)
        guard split.agrees(with: whole) else {
            fatalError("where a buffer ends \(split), else \(whole)")
        }
    }
    let narrow = ManifestLimits(maximumDepth: 3, maximumEntrySize: 256, maximumPipedSize: 512)
    _ = Reading(of: .bytes(bytes, name: "input"), rules: rules, limits: narrow)
    return 0
}

/// What the reader takes into memory at once.
private let buffer = 256 << 10

extension ManifestRules {
    /// Up to three paths with blanks between them. What is no path is left out.
    fileprivate init(places: String) {
        self.init()
        let paths = places.split(separator: " ", omittingEmptySubsequences: false)
            .map { try? ManifestPath(String($0)) }
        entries = paths.first ?? nil
        nameKey = paths.dropFirst().first ?? nil
        iconKeys = paths.dropFirst(2).compactMap(\.self)
        icons = IconSelection.allCases[places.utf8.count % IconSelection.allCases.count]
    }
}
