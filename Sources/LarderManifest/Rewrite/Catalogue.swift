import Foundation

/// A manifest that is read twice: first for its icons, then to copy it with new icon values.
package final class Catalogue {
    private let input: ByteInput
    private let descriptor: Int32
    private let limits: ManifestLimits
    private let identity: [Int64]?
    /// Whether the manifest is a gzip file. Set by ``copy(as:replacing:to:)``.
    package private(set) var isPacked = false

    /// Opens the source. Copies a pipe or bytes in memory to a temporary file.
    package init(_ source: ManifestSource, limits: ManifestLimits = .init()) throws {
        var input = try source.open()
        if input.file == nil || input.seekableSize == nil {
            input = try ByteWindow(input).saved(limit: limits.maximumUnpackedSize).input
        }
        self.input = input
        self.limits = limits
        descriptor = input.file ?? -1
        identity = Self.identity(of: descriptor)
    }

    /// The manifest from its start. Only one reader at a time can use it.
    package var source: ManifestSource {
        guard let base = input.baseURL else {
            lseek(descriptor, 0, SEEK_SET)
            return .descriptor(descriptor, name: input.name)
        }
        return .url(base) { [descriptor, name = input.name] _ in
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0, lseek(copy, 0, SEEK_SET) == 0
            else { throw ManifestError.system(errno, "cannot open", source: name) }
            return OpenedManifest(descriptor: copy, baseURL: base)
        }
    }

    /// Copies the manifest with edits in the order of their spans. A gzip file stays compressed.
    /// Equal edits give equal bytes. Returns the number of remaining http and https URLs of images.
    package func copy(
        as format: ManifestFormat, replacing nextEdit: () throws -> CatalogueEdit?,
        to sink: @escaping (UnsafeRawBufferPointer) throws -> Void
    ) throws -> Int {
        lseek(descriptor, 0, SEEK_SET)
        let input = ByteInput(descriptor: descriptor, isOwned: false, name: input.name)
        let (window, isPacked) = try ByteWindow.unpacking(input, limits)
        self.isPacked = isPacked
        let encoding = try XMLEncoding.of(window)
        let images = ImageURLCounter()
        let deflater = isPacked ? try Deflater() : nil
        func write(_ bytes: UnsafeRawBufferPointer) throws {
            if let deflater { try deflater.add(bytes, to: sink) } else { try sink(bytes) }
        }
        if format == .binaryPlist {
            let bytes = try BinaryPlistBytes(window, limits: limits)
            var writer = try BinaryPlistWriter(bytes, counting: images, write)
            try writer.write(replacing: nextEdit)
        } else {
            try copy(window, TokenWriter(format, encoding), replacing: nextEdit) { part in
                if encoding.unitSize == 2 {
                    part.filter { $0 != 0 }.withUnsafeBytes(images.add)
                } else {
                    images.add(part)
                }
                try write(part)
            }
        }
        images.finish()
        try deflater?.finish(to: sink)
        if Self.identity(of: descriptor) != identity { throw changed }
        return images.count
    }

    private var changed: ManifestError {
        ManifestError(
            .malformed, source: input.name, "the file was changed while it was read; try again")
    }

    private func copy(
        _ window: ByteWindow, _ writer: TokenWriter,
        replacing nextEdit: () throws -> CatalogueEdit?,
        to output: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        func copy(upTo end: Int) throws {
            while window.offset < end, try window.peek() != nil {
                let part = UnsafeRawBufferPointer(
                    UnsafeBufferPointer(rebasing: window.unread.prefix(end - window.offset)))
                writer.pass(part)
                try output(part)
                window.consume(part.count)
            }
        }
        while let edit = try nextEdit() {
            // Spans do not overlap partially, so this one was already replaced.
            guard edit.span.lowerBound >= window.offset else { continue }
            try copy(upTo: edit.span.lowerBound)
            try window.fill(to: edit.span.count)
            guard window.offset == edit.span.lowerBound, window.count >= edit.span.count
            else { throw changed }
            let new = writer.token(edit.text, replacing: window.unread.prefix(edit.span.count))
            try new.withUnsafeBytes(output)
            window.consume(edit.span.count)
        }
        try copy(upTo: .max)
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

package struct CatalogueEdit {
    package let span: Range<Int>
    /// The number of the new value. Edits with equal numbers can share a string.
    package let number: Int64
    package let text: String

    package init(span: Range<Int>, number: Int64, text: String) {
        self.span = span
        self.number = number
        self.text = text
    }
}
