/// Paths that need not be UTF-8: to Linux a name is bytes. Each byte that is not UTF-8 is one
/// character for private use, U+10FF00 plus the byte. If a path has such a character itself, its
/// bytes are written in the same way, so that different paths stay different.
extension String {
    private static let firstEscape: UInt32 = 0x10_FF00
    /// The first byte of each escape in UTF-8.
    private static let escapeLead: UInt8 = 0xF4

    package init(path: UnsafePointer<CChar>) {
        if let text = String(validatingCString: path), !text.utf8.contains(Self.escapeLead) {
            self = text
            return
        }
        self = ""
        var rest = UnsafeBufferPointer(start: path, count: Self.length(of: path))
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

    private static func length(of path: UnsafePointer<CChar>) -> Int {
        var length = 0
        while path[length] != 0 { length += 1 }
        return length
    }

    package func withPath<Value>(_ body: (UnsafePointer<CChar>) -> Value) -> Value {
        guard utf8.contains(Self.escapeLead) else { return withCString(body) }
        var path: [CChar] = []
        for scalar in unicodeScalars {
            if scalar.value >= Self.firstEscape {
                path.append(CChar(truncatingIfNeeded: scalar.value))
            } else {
                path += UTF8.encode(scalar)!.map(CChar.init(bitPattern:))
            }
        }
        return body(path + [0])
    }

    /// The directory of a path, as dirname(3) has it: "." if there is none.
    /// `NSString.deletingLastPathComponent` of Swift 6.3 traps on a name of one character.
    package var parentDirectory: String {
        var path = self[...]
        func dropSlashes() { while path.utf8.count > 1, path.last == "/" { path.removeLast() } }
        dropSlashes()
        guard let slash = path.lastIndex(of: "/") else { return "." }
        path = path[...slash]
        dropSlashes()
        return String(path)
    }

    /// The name behind the last slash; "" if the path ends with a slash.
    package var lastName: String {
        utf8.lastIndex(of: UInt8(ascii: "/")).map { String(self[index(after: $0)...]) } ?? self
    }
}
