/// Takes one JSON value after another out of a window.
///
/// A value is parsed where it lies; if the window ends within it, the window is filled and the
/// value parsed anew, so that the parser itself never has to stop and resume.
struct JSONElementReader {
    let window: ByteWindow
    let limits: ManifestLimits

    /// Consumes one value. One that is too large or too deep is skipped, and all that is checked
    /// of it is that its brackets balance.
    func value() throws -> Result<ManifestValue, EntryError> {
        try take { parser throws(JSONParser.Failure) in try parser.value() }
    }

    /// Consumes a member's key.
    func key() throws -> Result<String, EntryError> {
        try take { parser throws(JSONParser.Failure) in try parser.key() }
    }

    private func take<Value>(
        _ read: (inout JSONParser) throws(JSONParser.Failure) -> Value
    ) throws -> Result<Value, EntryError> {
        _ = try window.peekBehindBlanks()
        while true {
            let isWithinLimit = window.count <= limits.maximumEntrySize
            let bytes = window.unread.prefix(limits.maximumEntrySize)
            var parser = JSONParser(
                UnsafeBufferPointer(rebasing: bytes), isWhole: window.isAtEnd && isWithinLimit,
                maximumDepth: limits.maximumDepth)
            do throws(JSONParser.Failure) {
                let value = try read(&parser)
                window.consume(parser.position)
                return .success(value)
            } catch {
                switch error {
                case .syntax(let offset, let reason):
                    throw window.error(.malformed, at: offset, reason)
                case .tooDeep:
                    try skip()
                    return .failure(.tooDeep(limits))
                case .unfinished where !isWithinLimit:
                    try skip()
                    return .failure(.tooLarge(limits))
                case .unfinished:
                    guard try window.fill() else { throw Self.truncated(window) }
                }
            }
        }
    }

    /// Consumes one value of any size and depth without recursion.
    private func skip() throws {
        var depth = 0
        var isInString = false
        var isEscaped = false
        repeat {
            for (index, byte) in window.unread.enumerated() {
                if isInString {
                    if isEscaped {
                        isEscaped = false
                    } else if byte == UInt8(ascii: "\\") {
                        isEscaped = true
                    } else if byte == UInt8(ascii: "\"") {
                        isInString = false
                        if depth == 0 { return window.consume(index + 1) }
                    }
                    continue
                }
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
                case UInt8(ascii: "]"), UInt8(ascii: "}"):
                    // A bracket of the surroundings ends a number or a word.
                    if depth == 0 { return window.consume(index) }
                    depth -= 1
                    if depth == 0 { return window.consume(index + 1) }
                case UInt8(ascii: ",") where depth == 0: return window.consume(index)
                default: break
                }
            }
            window.consume(window.count)
        } while try window.fill()
        throw Self.truncated(window)
    }

    /// The input has ended too early.
    static func truncated(_ window: ByteWindow) -> ManifestError {
        window.error(
            .malformed, at: window.count, "the file ends before its arrays and objects do")
    }
}
