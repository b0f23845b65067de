extension String {
    /// The text as one word of a shell's command: in quotation marks, unless it needs none.
    package var shellQuoted: String {
        let isPlain = utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_./:@%+,".utf8.contains(byte)
            }
        }
        if isPlain, !utf8.isEmpty { return self }
        return "'"
            + utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }.joined(separator: "'\\''") + "'"
    }
}
