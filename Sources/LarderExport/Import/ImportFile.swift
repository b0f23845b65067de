import Foundation
import LarderCache
import LarderCore
import LarderImages
import LarderManifest

struct ImportFile {
    let directory: FileDescriptor
    let store: Store
    let configuration: ImportConfiguration
    let readFiles: ReadFiles
    /// The limit for all sparse files together, because the cache stores their holes as bytes.
    let sparse = SparseBudget()

    /// Stages a file, or returns nil if the file or its metadata does not exist.
    func stage(_ place: ImportPlace, _ expectation: Expectation) throws -> StagedObject? {
        guard let file = try open(place.name) else { return nil }
        if let metadata = place.metadata, try !hasMetadata(metadata, hasStatus: place.hasStatus) {
            return nil
        }
        let identity = FileIdentity(try file.status())
        let known = try readFiles.content(of: identity)
        var read = known == nil ? try self.read(file) : nil
        guard let content = known ?? read?.content else { return nil }
        if known == nil { try readFiles.add(identity, content) }
        if let digest = place.digest, digest != content.digest {
            throw ImportFailure(
                .integrityMismatch, "\(place.name) does not match its digest in index.json")
        }
        if let mismatch = expectation.mismatch(digest: content.digest, size: content.size),
            let code = ImportCode(rawValue: mismatch.code)
        {
            throw ImportFailure(code, "the file has different bytes: \(mismatch.message)")
        }
        if let fault = content.imageFault { throw ImportFailure(.notAnImage, fault) }
        if read == nil {
            let stored = try store.stored(
                content.digest, size: content.size, attributes: content.attributes)
            if let stored { return stored }
            read = try self.read(file)
            guard read?.content.digest == content.digest else {
                throw ImportFailure(.unreadable, "\(place.name) changed during the import")
            }
        }
        return try read.map {
            try store.stage($0.body, digest: content.digest, attributes: content.attributes)
        }
    }

    private func read(
        _ file: FileDescriptor
    ) throws -> (body: StagedBody, content: ReadFiles.Content) {
        _ = try readable { try sparse.take(file.status(), of: file.subject) }
        let body = try store.newBody { append in
            var left = configuration.maximumBytes
            while true {
                let bytes = try readable { try file.read(atMost: 64 << 10) }
                if bytes.isEmpty { return }
                left -= Int64(bytes.count)
                guard left >= 0 else { throw tooLarge }
                try bytes.withUnsafeBytes(append)
            }
        }
        var content = ReadFiles.Content(digest: try body.finish(), size: body.count)
        if body.count == 0 {
            content.imageFault = "the file is empty"
            return (body, content)
        }
        do {
            let image = try body.withBytes { try ImageInspector.inspect($0) }
            content.attributes = ObjectAttributes(
                mediaType: image.mediaType.rawValue, width: image.width, height: image.height)
        } catch let fault as ImageError {
            if !configuration.acceptsAnyContent { content.imageFault = fault.message }
        }
        return (body, content)
    }

    private func open(_ name: String) throws -> FileDescriptor? {
        let notAFile = ImportFailure(.notAFile, "\(name) is not a regular file")
        do {
            let file = try directory.file(name)
            let status = try file.status()
            guard status.isRegularFile else { throw notAFile }
            guard status.st_size <= configuration.maximumBytes else { throw tooLarge }
            return file
        } catch let error as CacheError {
            switch error.errno {
            case ENOENT, ENAMETOOLONG: return nil
            case ELOOP: throw ImportFailure(.notAFile, "\(name) is a link")
            case nil, ENXIO: throw notAFile
            default: throw ImportFailure(.unreadable, error.description)
            }
        }
    }

    /// Whether the metadata file exists. Throws if it contains an error status.
    ///
    /// The file is empty, or its first line is the status (Coil 3.5.0, CacheNetworkResponse.kt). A
    /// status of 304 is stored with the body that it confirms (DefaultCacheStrategy.kt).
    private func hasMetadata(_ name: String, hasStatus: Bool) throws -> Bool {
        guard let file = try open(name) else { return false }
        guard hasStatus else { return true }
        let head = try readable { try file.read(atMost: 32) }
        let status = Int(String(decoding: head.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
        guard head.isEmpty || status.map({ 200..<300 ~= $0 || $0 == 304 }) == true else {
            let words = status.map { "status \($0)" } ?? "an unknown status"
            throw ImportFailure(.errorResponse, "the file is the body of a response with \(words)")
        }
        return true
    }

    private func readable<Value>(_ read: () throws -> Value) throws -> Value {
        do { return try read() } catch { throw ImportFailure(.unreadable, "\(error)") }
    }

    private var tooLarge: ImportFailure {
        ImportFailure(.tooLarge, "the file has more than \(configuration.maximumBytes) bytes")
    }
}
