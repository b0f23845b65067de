import Foundation
import LarderCore

/// The bytes of a manifest in order, and at any place if the source allows it.
package final class ByteInput {
    let name: String
    /// Where it came from, for relative URLs; nil if that is not on the network.
    let baseURL: HTTPURL?
    /// Must be called when all of it was read as a manifest, with whether its URLs have
    /// credentials.
    var whenRead: ((_ hasCredentials: Bool) throws -> Void)?
    /// The first bytes that were read, no more than ``keepsFirst``, if they are kept.
    private(set) var first: [UInt8] = []
    /// How many of the first bytes to keep, for a source that is read only once.
    var keepsFirst = 0
    /// Whether the reading is to end. Asked before each read in order.
    package var isCancelled: () -> Bool = { false }
    private var limits = ManifestLimits()
    private let source: Source
    private var position = 0
    private var isReadInOrder = true

    private enum Source {
        case descriptor(Int32, isOwned: Bool)
        case bytes([UInt8])
        case packed(Inflater)
        case decoded(TextDecoder)
    }

    init(descriptor: Int32, isOwned: Bool, name: String, baseURL: HTTPURL? = nil) {
        self.name = name
        self.baseURL = baseURL
        source = .descriptor(descriptor, isOwned: isOwned)
    }

    init(bytes: [UInt8], name: String) {
        self.name = name
        baseURL = nil
        source = .bytes(bytes)
    }

    /// What the gzip file in a window holds.
    init(unpacking window: ByteWindow, limits: ManifestLimits) throws {
        name = window.input.name
        baseURL = window.input.baseURL
        self.limits = limits
        source = .packed(try Inflater(window))
    }

    /// What the text in a window is in UTF-8.
    init(decoding window: ByteWindow, from encoding: XMLEncoding) {
        name = window.input.name
        baseURL = window.input.baseURL
        source = .decoded(TextDecoder(window, from: encoding))
    }

    deinit {
        if case .descriptor(let descriptor, isOwned: true) = source { close(descriptor) }
    }

    /// The whole size, if the source is a file read from its beginning; then `read(into:at:)`
    /// works.
    var seekableSize: Int? {
        switch source {
        case .bytes(let bytes): return bytes.count
        case .packed, .decoded: return nil
        case .descriptor(let descriptor, _):
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                lseek(descriptor, 0, SEEK_CUR) == position
            else { return nil }
            return Int(status.st_size)
        }
    }

    /// Whether there was anything so far that is no character in the text's encoding.
    var hasInvalidText: Bool {
        if case .decoded(let decoder) = source { decoder.hasInvalid } else { false }
    }

    /// How much of it was read, from 0 to 1; nil if nobody knows.
    package var shareRead: Double? {
        guard isReadInOrder, case .descriptor(let descriptor, _) = source else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size > 0
        else { return nil }
        return min(1, Double(position) / Double(status.st_size))
    }

    /// Reads on; 0 at the end.
    ///
    /// - Throws: ``ManifestError``; `CancellationError` if ``isCancelled`` says so.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if isCancelled() { throw CancellationError() }
        let count: Int
        switch source {
        case .bytes(let bytes): count = Self.copy(bytes, from: position, into: buffer)
        case .packed(let inflater): count = try inflater.read(into: buffer)
        case .decoded(let decoder): count = try decoder.read(into: buffer)
        case .descriptor(let descriptor, _):
            count = try retrying {
                Foundation.read(descriptor, buffer.baseAddress, buffer.count)
            }
        }
        position += count
        if first.count < keepsFirst {
            first += UnsafeRawBufferPointer(rebasing: buffer.prefix(count))
                .prefix(keepsFirst - first.count)
        }
        if case .packed(let inflater) = source { try confirm(position, from: inflater.packedCount) }
        return count
    }

    /// Checks that so much may be unpacked from so much.
    private func confirm(_ unpacked: Int, from packed: Int) throws {
        let most = limits.maximumUnpackedSize
        guard unpacked <= most else {
            throw ManifestError(
                .tooLarge, source: name,
                "longer than \(most) bytes unpacked; --max-manifest-size permits more")
        }
        let ratio = limits.maximumUnpackingRatio
        let (bound, isBeyond) = packed.multipliedReportingOverflow(by: ratio)
        guard unpacked <= ManifestLimits.freelyUnpackedSize || isBeyond || unpacked <= bound else {
            throw ManifestError(
                .tooLarge, source: name,
                "unpacks to more than \(ratio) times its length; --max-unpack-ratio permits more")
        }
    }

    /// Reads at an offset from the beginning, without moving; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        isReadInOrder = false
        return switch source {
        case .bytes(let bytes): Self.copy(bytes, from: offset, into: buffer)
        case .packed, .decoded: 0
        case .descriptor(let descriptor, _):
            try retrying { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
        }
    }

    private static func copy(
        _ bytes: [UInt8], from offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        let rest = bytes.dropFirst(offset).prefix(buffer.count)
        buffer.copyBytes(from: rest)
        return rest.count
    }

    private func retrying(_ call: () -> Int) throws -> Int {
        while true {
            let count = call()
            if count >= 0 { return count }
            let number = errno
            if number == EINTR { continue }
            throw ManifestError.system(number, "cannot read", source: name)
        }
    }
}

/// A temporary file without a name: nobody's but this process's, and gone with its descriptor,
/// which is the maker's to close.
package struct UnnamedFile {
    package let descriptor: Int32

    /// - Parameter source: whose bytes it is for.
    package init(for source: String) throws(ManifestError) {
        var path = Array((NSTemporaryDirectory() + "larder-XXXXXX").utf8CString)
        descriptor = mkstemp(&path)
        guard descriptor >= 0 else {
            throw ManifestError.system(errno, "cannot make a temporary file", source: source)
        }
        unlink(path)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    /// Writes bytes behind those that are there; returns an error number, 0 if there is none.
    package func append(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = write(
                descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
