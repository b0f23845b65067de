import Foundation
import LarderCache
import LarderCore
import LarderManifest

extension ManifestSource {
    /// Returns a manifest that lists a cache's resources. The manifest is written while it is read.
    package static func listing(of cache: Cache) throws -> ManifestSource {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Self.stream, 0, &ends) == 0 else {
            throw CacheError(.unusable, subject: cache.path, message: "cannot create a socket")
        }
        let (reader, writer) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let hasThread = HelperThread.start {
            defer { close(writer) }
            // After an error, the reader reports that the list has no end. SIGPIPE is blocked here.
            try? Self.list(cache, in: FileHandle(fileDescriptor: writer, closeOnDealloc: false))
        }
        guard hasThread else {
            for end in ends { close(end) }
            throw HelperThread.shortage
        }
        return .descriptor(reader, name: "the cache")
    }

    #if canImport(Darwin)
        private static let stream = SOCK_STREAM
    #else
        private static let stream = Int32(SOCK_STREAM.rawValue)
    #endif

    private static func list(_ cache: Cache, in file: FileHandle) throws {
        var buffer = Array("[".utf8)
        var separator = ""
        try cache.forEachResource { resource in
            let key = ResourceKey.name(in: resource.key)
            // Icons from `data:` URLs have no URL to list.
            guard key != nil || !ResourceKey.isSpelledOut(resource.key) else { return }
            var entry = JSONObject()
            entry.set("icon", exactly: resource.url)
            if let key { entry.set("key", exactly: key) }
            buffer += (separator + entry.text).utf8
            separator = ","
            guard buffer.count > 64 << 10 else { return }
            try file.write(contentsOf: buffer)
            buffer.removeAll(keepingCapacity: true)
        }
        buffer += "]".utf8
        try file.write(contentsOf: buffer)
    }
}
