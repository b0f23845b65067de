import Foundation

/// Gives a batch of staged files the names of their digests.
struct ObjectPublisher {
    private let directory: CacheDirectory
    private let run: RunDirectory

    init(_ directory: CacheDirectory, run: RunDirectory) {
        self.directory = directory
        self.run = run
    }

    /// Renames staged files to their digests, one directory after another.
    ///
    /// - Returns: why those could not be put in their place that something else is in.
    func publish(_ files: [Digest: String]) throws(CacheError) -> [Digest: CacheError] {
        let objects = try directory.objects(create: true)
        var obstructions: [Digest: CacheError] = [:]
        for (name, group) in Dictionary(grouping: files, by: { CacheLayout.fanOut($0.key) }) {
            try FileDescriptor.ensureDirectory(name, beneath: objects)
            do throws(CacheError) {
                let fanOut = try FileDescriptor.directory(name, beneath: objects, create: false)
                for (digest, file) in group {
                    if renameat(run.directory.raw, file, fanOut.raw, digest.hex) == 0 { continue }
                    let subject = CacheLayout.path(digest)
                    let error = CacheError("rename", subject: subject, errno: errno)
                    guard let obstruction = error.obstruction(at: subject) else { throw error }
                    obstructions[digest] = obstruction
                }
                try Durability.add(fanOut)
            } catch {
                guard let obstruction = error.obstruction(at: objects.path(of: name)) else {
                    throw error
                }
                for digest in group.map(\.key) { obstructions[digest] = obstruction }
            }
        }
        try Durability.add(objects)
        return obstructions
    }
}
