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
            let made = try objects.makeDirectory(name)
            do throws(CacheError) {
                let fanOut = if let made { made } else { try objects.directory(name) }
                for (digest, file) in group {
                    do throws(CacheError) {
                        try run.directory.rename(file, to: fanOut, as: digest.hex)
                    } catch {
                        guard let obstruction = error.obstruction else { throw error }
                        obstructions[digest] = obstruction
                    }
                }
                try Durability.add(fanOut)
            } catch {
                guard let obstruction = error.obstruction else { throw error }
                for digest in group.map(\.key) { obstructions[digest] = obstruction }
            }
        }
        try Durability.add(objects)
        return obstructions
    }
}
