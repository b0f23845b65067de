import Foundation

/// A manifest that is read twice: once for its icons, and once to copy it with other icon values.
package final class Catalogue {
    private let input: ByteInput
    private let descriptor: Int32
    /// The temporary file of a manifest that could not be read twice.
    private var spool: UnnamedFile?
    private let limits: ManifestLimits
    private let identity: [Int64]?
    /// Whether the manifest is a gzip file. Known after a copy.
    package private(set) var isPacked = false

    /// Opens the manifest. A pipe or bytes in memory are first copied to a temporary file.
    package init(_ source: ManifestSource, limits: ManifestLimits = .init()) throws {
        input = try source.open()
        self.limits = limits
        if let file = input.file, input.seekableSize != nil {
            descriptor = file
            identity = Self.identity(of: file)
        } else {
            let spool = try Self.copy(of: input, limits: limits)
            descriptor = spool.descriptor
            self.spool = spool
            identity = nil
        }
    }

    deinit { if let spool { close(spool.descriptor) } }

    /// The manifest from its start. Only one reader at a time can use the source.
    package var source: ManifestSource {
        guard let base = input.baseURL else {
            lseek(descriptor, 0, SEEK_SET)
            return .descriptor(descriptor, name: input.name)
        }
        return .url(base) { [descriptor, name = input.name] _ in
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0, lseek(copy, 0, SEEK_SET) == 0 else {
                throw ManifestError.system(errno, "cannot open", source: name)
            }
            return OpenedManifest(descriptor: copy, baseURL: base)
        }
    }

    /// Copies the manifest, and replaces icon values. A gzip file stays one. The same edits give
    /// the same bytes.
    ///
    /// - Parameters:
    ///   - nextEdit: Returns the edits in the order of their spans, then nil.
    ///   - sink: Receives the bytes.
    /// - Returns: The number of remaining URLs of images.
    package func copy(
        as format: ManifestFormat, replacing nextEdit: () throws -> CatalogueEdit?,
        to sink: @escaping (UnsafeRawBufferPointer) throws -> Void
    ) throws -> Int {
        lseek(descriptor, 0, SEEK_SET)
        let input = ByteInput(descriptor: descriptor, isOwned: false, name: input.name)
        var window = ByteWindow(input)
        _ = try window.peek()
        isPacked = Inflater.isGzip(window.unread)
        if isPacked { window = ByteWindow(try ByteInput(unpacking: window, limits: limits)) }
        _ = try window.peek()
        let output = try CatalogueOutput(isPacked: isPacked, sink)
        if format == .binaryPlist {
            do {
                let bytes = try BinaryPlistBytes(window, limits: limits)
                try BinaryPlistWriter(bytes).write(replacing: nextEdit, to: output)
            } catch let damage as BinaryPlist.Damage {
                throw ManifestError(damage.code, source: input.name, damage.reason)
            }
        } else {
            try copy(window, TokenWriter(format, window), replacing: nextEdit, to: output)
        }
        try output.finish()
        if let identity, Self.identity(of: descriptor) != identity { throw changed }
        return output.images.count
    }

    private var changed: ManifestError {
        ManifestError(
            .malformed, source: input.name, "the file was changed while it was read; try again")
    }

    private func copy(
        _ window: ByteWindow, _ writer: TokenWriter,
        replacing nextEdit: () throws -> CatalogueEdit?, to output: CatalogueOutput
    ) throws {
        func copy(upTo end: Int) throws {
            while window.offset < end, try window.peek() != nil {
                let part = UnsafeRawBufferPointer(
                    UnsafeBufferPointer(rebasing: window.unread.prefix(end - window.offset)))
                writer.pass(part)
                try output.write(part)
                window.consume(part.count)
            }
        }
        while let edit = try nextEdit() {
            // Spans of the reader do not overlap.
            guard edit.span.lowerBound >= window.offset else { continue }
            try copy(upTo: edit.span.lowerBound)
            try window.fill(to: edit.span.count)
            guard window.offset == edit.span.lowerBound, window.count >= edit.span.count else {
                throw changed
            }
            let token = Array(window.unread.prefix(edit.span.count))
            let new = try writer.token(edit.text, for: token) {
                try Self.isInFlow(window, after: token.count)
            }
            try new.withUnsafeBytes { try output.write($0) }
            window.consume(token.count)
        }
        try copy(upTo: .max)
    }

    /// Whether a YAML value is in a flow collection: only there, a comma or a closing bracket
    /// follows.
    private static func isInFlow(_ window: ByteWindow, after count: Int) throws -> Bool {
        let limit = 64 << 10
        var place = count
        var isComment = false
        while place < count + limit {
            if place >= window.count, try !window.fill() { return false }
            switch window.unread[place] {
            case 0x0A, 0x0D: isComment = false
            case _ where isComment: break
            case 0x20, 0x09: break
            case UInt8(ascii: "#"): isComment = true
            case let byte: return ",]}".utf8.contains(byte)
            }
            place += 1
        }
        return true
    }

    private static func copy(
        of input: ByteInput, limits: ManifestLimits
    ) throws -> UnnamedFile {
        let file = try UnnamedFile(for: input.name)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var size: Int64 = 0
        do {
            while case let count = try input.read(into: buffer), count > 0 {
                size += Int64(count)
                guard size <= limits.maximumUnpackedSize else {
                    throw ManifestError(
                        .tooLarge, source: input.name,
                        "the manifest has more than \(limits.maximumUnpackedSize) bytes;"
                            + " use --max-manifest-size to allow more")
                }
                let number = file.append(UnsafeRawBufferPointer(rebasing: buffer.prefix(count)))
                guard number == 0 else {
                    throw ManifestError.system(
                        number, "cannot write to a temporary file", source: input.name)
                }
            }
        } catch {
            close(file.descriptor)
            throw error
        }
        return file
    }

    private static func identity(of file: Int32) -> [Int64]? {
        var status = stat()
        guard fstat(file, &status) == 0 else { return nil }
        #if canImport(Darwin)
            let modified = status.st_mtimespec
        #else
            let modified = status.st_mtim
        #endif
        return [Int64(status.st_size), Int64(modified.tv_sec), Int64(modified.tv_nsec)]
    }
}

/// A new icon value.
package struct CatalogueEdit {
    /// The bytes to replace in the unpacked manifest.
    package let span: Range<Int>
    /// The number of the value. Equal values can have equal numbers.
    package let number: Int64
    /// The value, in printable ASCII.
    package let text: String

    /// Creates an edit.
    package init(span: Range<Int>, number: Int64, text: String) {
        self.span = span
        self.number = number
        self.text = text
    }
}

/// The output of a copy, packed if needed and searched for URLs of images.
final class CatalogueOutput {
    let images = RemoteImages()
    private let deflater: Deflater?
    private let sink: (UnsafeRawBufferPointer) throws -> Void

    init(isPacked: Bool, _ sink: @escaping (UnsafeRawBufferPointer) throws -> Void) throws {
        deflater = isPacked ? try Deflater() : nil
        self.sink = sink
    }

    /// Writes text.
    func write(_ bytes: UnsafeRawBufferPointer) throws {
        images.add(bytes)
        try writeBinary(bytes)
    }

    func writeBinary(_ bytes: UnsafeRawBufferPointer) throws {
        guard let deflater else { return try sink(bytes) }
        try deflater.add(bytes, to: sink)
    }

    func finish() throws {
        images.finish()
        try deflater?.finish(to: sink)
    }
}
