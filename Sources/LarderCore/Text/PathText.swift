import Foundation

// Paths as text. On Linux, a path need not be UTF-8. Invalid bytes become private-use characters,
// U+10FF00 plus the byte. Characters from U+100000 on are escaped, too, so paths remain distinct.
extension String {
    private static let firstEscape: UInt32 = 0x10_FF00
    private static let escapeLead: UInt8 = 0xF4

    package init(path: UnsafePointer<CChar>) {
        if let text = String(validatingCString: path), !text.utf8.contains(Self.escapeLead) {
            self = text
            return
        }
        self = ""
        var rest = UnsafeBufferPointer(start: path, count: strlen(path))
            .map(UInt8.init(bitPattern:))[...]
        while let first = rest.first {
            let bytes = rest.prefix(max(1, (~first).leadingZeroBitCount))
            let text = String(decoding: bytes, as: UTF8.self)
            if text.utf8.elementsEqual(bytes), !text.utf8.starts(with: [Self.escapeLead]) {
                self += text
                rest = rest.dropFirst(bytes.count)
            } else {
                unicodeScalars.append(Unicode.Scalar(Self.firstEscape + UInt32(first))!)
                rest = rest.dropFirst()
            }
        }
    }

    package func withPath<Value>(_ body: (UnsafePointer<CChar>) -> Value) -> Value {
        guard utf8.contains(Self.escapeLead) else { return withCString(body) }
        let path = unicodeScalars.flatMap { scalar in
            scalar.value >= Self.firstEscape
                ? [CChar(truncatingIfNeeded: scalar.value)]
                : UTF8.encode(scalar)!.map(CChar.init(bitPattern:))
        }
        return body(path + [0])
    }

    /// Like dirname(3). Swift 6.3's `deletingLastPathComponent` traps on a name of one character.
    package var parentDirectory: String {
        var path = self[...]
        func dropSlashes() { while path.utf8.count > 1, path.last == "/" { path.removeLast() } }
        dropSlashes()
        guard let slash = path.lastIndex(of: "/") else { return "." }
        path = path[...slash]
        dropSlashes()
        return String(path)
    }

    package var lastName: String {
        utf8.lastIndex(of: UInt8(ascii: "/")).map { String(self[index(after: $0)...]) } ?? self
    }
}
