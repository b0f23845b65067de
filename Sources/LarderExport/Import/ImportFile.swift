import Foundation
import LarderCache
import LarderKit

/// Reads one file of another program's cache, which may be anything, into the store.
struct ImportFile {
    /// Why it is not adopted.
    struct Refusal: Error {
        let code: ImportReason
        let message: String
    }

    let directory: FileDescriptor
    let store: Store
    let maximumBytes: Int64
    let acceptsAnyContent: Bool

    /// Stages the bytes of a file, if they are what is wanted.
    ///
    /// - Returns: nil if there is no such file.
    /// - Throws: ``Refusal``; ``CacheError`` if the cache fails.
    func stage(
        _ name: String, listed: Digest?, demanded digest: Digest?, size: Int64?
    ) throws -> StagedObject? {
        guard let file = try open(name) else { return nil }
        let body = try body(of: file)
        let found = try body.finish()
        if let listed, listed != found {
            throw Refusal(
                code: .integrityMismatch, message: "\(name) is not what the directory's list says")
        }
        if let digest, digest != found {
            throw Refusal(
                code: .integrityMismatch,
                message: "the file has \(found), the manifest demands \(digest)")
        }
        if let size, size != body.count {
            throw Refusal(
                code: .sizeMismatch,
                message: "the file has \(body.count) bytes, the manifest demands \(size)")
        }
        return try store.stage(body, digest: found, attributes: attributes(of: body))
    }

    private func open(_ name: String) throws -> FileDescriptor? {
        do throws(CacheError) {
            let file = try directory.file(name)
            let status = try file.status()
            guard status.isRegularFile else {
                throw CacheError(.obstructed, subject: name, message: "is not a file")
            }
            guard status.st_size <= maximumBytes else {
                throw CacheError(.unusable, subject: name, message: "too large")
            }
            return file
        } catch {
            switch error.errno {
            case ENOENT, ENAMETOOLONG: return nil
            case ELOOP: throw Refusal(code: .notAFile, message: "\(name) is a link")
            case nil where error.code == .unusable: throw tooLarge
            case nil, ENXIO: throw Refusal(code: .notAFile, message: "\(name) is not a file")
            default: throw Refusal(code: .unreadable, message: error.description)
            }
        }
    }

    private var tooLarge: Refusal {
        Refusal(code: .tooLarge, message: "more than \(maximumBytes) bytes")
    }

    /// It may grow while it is read.
    private func body(of file: FileDescriptor) throws -> StagedBody {
        try store.newBody { append in
            var left = maximumBytes
            while true {
                let bytes: [UInt8]
                do {
                    bytes = try file.read(atMost: 64 << 10)
                } catch {
                    throw Refusal(code: .unreadable, message: "\(error)")
                }
                if bytes.isEmpty { return }
                left -= Int64(bytes.count)
                guard left >= 0 else { throw tooLarge }
                try bytes.withUnsafeBytes(append)
            }
        }
    }

    private func attributes(of body: StagedBody) throws -> ObjectAttributes {
        do {
            guard body.count > 0 else {
                throw Refusal(code: .notAnImage, message: "the file is empty")
            }
            let image = try body.withBytes { try ImageInspector.inspect($0) }
            return ObjectAttributes(
                mediaType: image.mediaType.rawValue, width: image.width, height: image.height)
        } catch let fault as ImageFault {
            guard !acceptsAnyContent else { return ObjectAttributes() }
            throw Refusal(code: .notAnImage, message: fault.message)
        }
    }
}
