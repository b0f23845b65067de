import Foundation
import LarderCore

package final class ByteInput {
    let name: String
    let baseURL: HTTPURL?
    var whenRead: ((_ hasCredentials: Bool) throws -> Void)?
    private(set) var first: [UInt8] = []
    var keepsFirst = 0
    package var isCancelled: () -> Bool = { false }
    private let source: Source
    private var position = 0
    private var isReadInOrder = true

    private enum Source {
        case descriptor(Int32, isOwned: Bool)
        case bytes([UInt8])
        case packed(Inflater)
    }

    package init(descriptor: Int32, isOwned: Bool, name: String, baseURL: HTTPURL? = nil) {
        self.name = name
        self.baseURL = baseURL
        source = .descriptor(descriptor, isOwned: isOwned)
    }

    init(bytes: [UInt8], name: String) {
        self.name = name
        baseURL = nil
        source = .bytes(bytes)
    }

    init(unpacking window: ByteWindow, limits: ManifestLimits) throws {
        name = window.input.name
        baseURL = window.input.baseURL
        source = .packed(try Inflater(window, limits: limits))
    }

    deinit { if case .descriptor(let descriptor, isOwned: true) = source { close(descriptor) } }

    /// The size for `read(into:at:)`, or nil if the source is neither in memory nor a whole file.
    var seekableSize: Int? {
        if case .bytes(let bytes) = source { return bytes.count }
        guard let file, lseek(file, 0, SEEK_CUR) == position else { return nil }
        return Self.fileSize(file)
    }

    package var shareRead: Double? {
        guard isReadInOrder, let file, let size = Self.fileSize(file), size > 0 else { return nil }
        return min(1, Double(position) / Double(size))
    }

    private static func fileSize(_ descriptor: Int32) -> Int? {
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        return isFile ? Int(status.st_size) : nil
    }

    var file: Int32? { if case .descriptor(let descriptor, _) = source { descriptor } else { nil } }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if isCancelled() { throw CancellationError() }
        let count: Int
        switch source {
        case .bytes: count = try read(into: buffer, at: position)
        case .packed(let inflater): count = try inflater.read(into: buffer)
        case .descriptor(let descriptor, _):
            count = try retrying { Foundation.read(descriptor, buffer.baseAddress, buffer.count) }
        }
        position += count
        if first.count < keepsFirst { first += buffer.prefix(min(count, keepsFirst - first.count)) }
        return count
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        isReadInOrder = false
        switch source {
        case .bytes(let bytes):
            let rest = bytes.dropFirst(offset).prefix(buffer.count)
            buffer.copyBytes(from: rest)
            return rest.count
        case .packed: return 0
        case .descriptor(let descriptor, _):
            return try retrying {
                pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            }
        }
    }

    private func retrying(_ call: () -> Int) throws -> Int {
        while true {
            let count = call()
            if count >= 0 { return count }
            let number = errno
            if number != EINTR { throw ManifestError.system(number, "cannot read", source: name) }
        }
    }
}

extension ManifestSource {
    /// - Throws: ``ManifestError``, and for a URL also `CacheError` and `CancellationError`.
    func open() throws -> ByteInput {
        switch self {
        case .file(let path):
            // The system would truncate the path at a null byte.
            guard !path.utf8.contains(0)
            else { throw ManifestError.system(EINVAL, "cannot open", source: name) }
            let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                let error = ManifestError.system(errno, "cannot open", source: name)
                let advice = error.code == .missing ? Self.adviceOnMissing(path) : ""
                throw ManifestError(
                    error.code, source: name, error.reason + advice, errorNumber: error.errorNumber)
            }
            return ByteInput(descriptor: descriptor, isOwned: true, name: name)
        case .standardInput: return ByteInput(descriptor: STDIN_FILENO, isOwned: false, name: name)
        case .descriptor(let descriptor, _):
            return ByteInput(descriptor: descriptor, isOwned: false, name: name)
        case .bytes(let bytes, _): return ByteInput(bytes: bytes, name: name)
        case .url(let url, let open):
            guard let open else {
                throw ManifestError(
                    .unreadable, source: name,
                    "cannot download a manifest from a URL; use a local file")
            }
            let opened = try open(url)
            let input = ByteInput(
                descriptor: opened.descriptor, isOwned: true, name: name, baseURL: opened.baseURL)
            input.whenRead = opened.whenRead
            return input
        }
    }

    package static func adviceOnMissing(_ path: String) -> String {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1)
        guard parts.count == 2, let start = path.utf8.first, !"/.".utf8.contains(start),
            parts[0].contains(where: ".:".utf8.contains),
            access(String(decoding: parts[0], as: UTF8.self), F_OK) != 0,
            let url = try? HTTPURL("https://\(path)")
        else { return "" }
        return "; for a URL, write \(url)"
    }
}

/// A temporary file without a name. The caller must close the descriptor.
package struct UnnamedFile {
    package let descriptor: Int32

    package init(for source: String) throws(ManifestError) {
        var path = Array((NSTemporaryDirectory() + "larder-XXXXXX").utf8CString)
        descriptor = mkstemp(&path)
        guard descriptor >= 0 else {
            throw ManifestError.system(
                errno, "cannot create a temporary file in $TMPDIR (\(NSTemporaryDirectory()))",
                source: source)
        }
        unlink(path)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    package func append(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        var done = 0
        while done < bytes.count {
            let count = write(descriptor, bytes.baseAddress! + done, bytes.count - done)
            if count >= 0 {
                done += count
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
