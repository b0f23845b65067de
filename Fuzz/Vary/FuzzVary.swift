import Pace

@testable import LarderCache

/// Reads the first line of an input as a `Vary` field, and further lines as a request's fields.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzVary(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: count))
    // 64 KiB is the maximum size of a head.
    for bytes in [bytes, Pace.stretched(bytes, to: 64 << 10)].compactMap(\.self) { compare(bytes) }
    return 0
}

private func compare(_ bytes: [UInt8]) {
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    let text = String(decoding: lines.first ?? [], as: UTF8.self)
    let vary = Pace.keep(bytes.count) { Vary(text) }
    var names: Set<[UInt8]> = []
    let fields = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        // Only one field per name, so that the order does not matter.
        guard names.insert(line[..<colon].lowercasedASCII).inserted else { return nil }
        return (
            String(decoding: line[..<colon], as: UTF8.self),
            String(decoding: line[colon...].dropFirst(), as: UTF8.self)
        )
    }
    let variant = Pace.keep(bytes.count) { vary.variant(for: fields) }
    guard (variant == nil) == vary.names.isEmpty else { fatalError("wrong variant") }
    guard Set(fields.map { Array($0.name.utf8).lowercasedASCII }).count == fields.count else {
        return
    }
    let twisted = fields.reversed().map { ($0.name.uppercasedASCII, " \($0.value)\t") }
    guard vary.variant(for: twisted) == variant else {
        fatalError("different variants: \(vary.names)")
    }
    guard Vary(vary.names.joined(separator: " , ")).names == vary.names else {
        fatalError("different names: \(vary.names)")
    }
}

extension String {
    fileprivate var uppercasedASCII: String {
        String(decoding: utf8.map { 0x61...0x7A ~= $0 ? $0 ^ 0x20 : $0 }, as: UTF8.self)
    }
}
