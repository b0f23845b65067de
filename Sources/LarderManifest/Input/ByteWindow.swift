import LarderCore

final class ByteWindow {
    let input: ByteInput
    let bytes: BufferedBytes

    init(_ input: ByteInput, capacity: Int = 256 << 10) {
        self.input = input
        bytes = BufferedBytes(capacity: capacity, line: 1) { try input.read(into: $0) }
    }

    static func unpacking(
        _ input: ByteInput, _ limits: ManifestLimits
    ) throws -> (window: ByteWindow, isPacked: Bool) {
        let window = ByteWindow(input)
        _ = try window.peek()
        guard Inflater.isGzip(window.unread) else { return (window, false) }
        let unpacked = ByteWindow(try ByteInput(unpacking: window, limits: limits))
        _ = try unpacked.peek()
        return (unpacked, true)
    }

    var unread: UnsafeBufferPointer<UInt8> { bytes.unread }
    var count: Int { bytes.count }
    var isAtEnd: Bool { bytes.isAtEnd }
    var line: Int { bytes.line }
    var offset: Int { bytes.offset }
    func fill() throws -> Bool { try bytes.fill() }
    func fill(to count: Int) throws { try bytes.fill(to: count) }
    func consume(_ count: Int) { bytes.consume(count) }
    func peek() throws -> UInt8? { try bytes.peek() }

    func peekAfterBlanks() throws -> UInt8? {
        repeat {
            let blanks = unread.prefix { $0.isMarkupBlank }.count
            if blanks > 0 { consume(blanks) }
            if let next = unread.first { return next }
        } while try fill()
        return nil
    }

    func lineLength(limit: Int) throws -> Int? {
        repeat {
            if let found = unread.place(of: 0x0A) { return found < limit ? found + 1 : nil }
            guard count <= limit else { return nil }
        } while try fill()
        return count
    }

    func skipLine() throws {
        repeat {
            if let found = unread.place(of: 0x0A) { return consume(found + 1) }
            consume(count)
        } while try fill()
    }

    func saved(limit: Int64) throws -> (input: ByteInput, count: Int) {
        let file = try UnnamedFile(for: input.name)
        let copy = ByteInput(
            descriptor: file.descriptor, isOwned: true, name: input.name, baseURL: input.baseURL)
        var size = 0
        while try peek() != nil {
            size += count
            guard size <= limit else {
                throw error(
                    .tooLarge, at: nil,
                    "a pipe may have at most \(limit) bytes here;"
                        + " save the manifest to a file first")
            }
            let number = file.append(UnsafeRawBufferPointer(unread))
            guard number == 0 else {
                throw ManifestError.system(
                    number, "cannot write to a temporary file", source: input.name)
            }
            consume(count)
        }
        return (copy, size)
    }

    func place(at offset: Int = 0) -> ManifestError.Place {
        var (line, column) = (line, bytes.column)
        for byte in unread.prefix(offset) {
            column += 1
            if byte == 0x0A { (line, column) = (line + 1, 1) }
        }
        return .line(line, column: column)
    }

    func error(_ code: ManifestError.Code, at offset: Int = 0, _ reason: String) -> ManifestError {
        error(code, at: place(at: offset), reason)
    }

    func error(
        _ code: ManifestError.Code, at place: ManifestError.Place?, _ reason: String
    ) -> ManifestError {
        ManifestError(code, source: input.name, at: place, reason)
    }
}
