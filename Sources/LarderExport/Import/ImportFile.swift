import Foundation
import LarderCache
import LarderCore
import LarderImages

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
    let readFiles: ReadFiles
    /// Of all files: the cache would store the holes of sparse files as bytes.
    let sparse = SparseBudget()

    /// Stages the bytes of a file, if they are what is wanted.
    ///
    /// - Returns: nil if there is no such file.
    /// - Throws: ``Refusal``; ``CacheError`` if the cache fails.
    func stage(
        _ place: ImportPlace, demanded digest: Digest?, size: Int64?
    ) throws -> StagedObject? {
        guard let file = try open(place.name) else { return nil }
        if let answer = place.answer, try !isThere(answer, hasStatus: place.hasStatus) {
            return nil
        }
        let identity = FileIdentity(try file.status())
        var body: StagedBody?
        var known = try readFiles.content(of: identity)
        if known == nil {
            (body, known) = try read(file)
            if let known { try readFiles.add(identity, known) }
        }
        guard let content = known else { return nil }
        try check(content, place, demanded: digest, size: size)
        let attributes = try content.image.get()
        if body == nil {
            let stored = try store.stored(
                content.digest, size: content.size, attributes: attributes)
            if let stored { return stored }
            // It was not wanted when it was read, and is now.
            (body, known) = try read(file)
            guard known?.digest == content.digest else {
                throw Refusal(code: .unreadable, message: "\(place.name) has changed")
            }
        }
        return try body.map { try store.stage($0, digest: content.digest, attributes: attributes) }
    }

    private func read(_ file: FileDescriptor) throws -> (StagedBody, ReadFiles.Content) {
        let body = try body(of: file)
        let digest = try body.finish()
        let image: Result<ObjectAttributes, Refusal>
        do {
            image = .success(try attributes(of: body))
        } catch let refusal as Refusal {
            image = .failure(refusal)
        }
        return (body, ReadFiles.Content(digest: digest, size: body.count, image: image))
    }

    /// - Throws: ``Refusal`` if the bytes are not those that are wanted.
    private func check(
        _ content: ReadFiles.Content, _ place: ImportPlace, demanded digest: Digest?, size: Int64?
    ) throws {
        let found = content.digest
        if !place.digests.isEmpty, !place.digests.contains(found) {
            throw Refusal(
                code: .integrityMismatch,
                message: "\(place.name) is not what the directory's list says")
        }
        if let digest, digest != found {
            throw Refusal(
                code: .integrityMismatch,
                message: "the file has \(found), the manifest demands \(digest)")
        }
        if let size, size != content.size {
            throw Refusal(
                code: .sizeMismatch,
                message: "the file has \(content.size) bytes, the manifest demands \(size)")
        }
    }

    private func open(_ name: String) throws -> FileDescriptor? {
        do throws(CacheError) {
            let file = try file(name)
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

    /// Opens a file and leaves its date of last access alone, if that is allowed: libraries remove
    /// what was read the longest ago.
    private func file(_ name: String) throws(CacheError) -> FileDescriptor {
        #if os(Linux)
            do throws(CacheError) {
                // O_NOATIME, which Glibc's module lacks: for the owner alone (open(2)).
                return try directory.open(name, flags: O_RDONLY | O_NONBLOCK | 0o1000000)
            } catch  where error.errno == EPERM {}
        #endif
        return try directory.file(name)
    }

    /// Whether the origin's answer is there, and had the image: Coil 3 stores the bodies of some
    /// errors, too.
    ///
    /// The file is empty if there was no answer, else its first line is the status: Coil 3.5.0,
    /// CacheNetworkResponse.kt; that of 304 is stored behind the body that it confirms
    /// (DefaultCacheStrategy.kt).
    ///
    /// - Returns: false if there is no such file.
    private func isThere(_ name: String, hasStatus: Bool) throws -> Bool {
        guard let file = try open(name) else { return false }
        guard hasStatus else { return true }
        let head: [UInt8]
        do {
            head = try file.read(atMost: 32)
        } catch {
            throw Refusal(code: .unreadable, message: "\(error)")
        }
        let line = head.prefix { $0 != UInt8(ascii: "\n") }
        let status = Int(String(decoding: line, as: UTF8.self))
        guard head.isEmpty || status.map({ 200..<300 ~= $0 || $0 == 304 }) == true else {
            let words = status.map { "of status \($0)" } ?? "of an unknown status"
            throw Refusal(code: .errorResponse, message: "it is the body of an answer \(words)")
        }
        return true
    }

    private var tooLarge: Refusal {
        Refusal(code: .tooLarge, message: "more than \(maximumBytes) bytes")
    }

    /// It may grow while it is read.
    private func body(of file: FileDescriptor) throws -> StagedBody {
        do {
            _ = try sparse.take(file.status(), of: file.subject)
        } catch {
            throw Refusal(code: .unreadable, message: "\(error)")
        }
        return try store.newBody { append in
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
