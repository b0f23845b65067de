import Foundation
import GRDB

/// A copy of the index beside it, from which URLs come back should the index be lost.
///
/// One file, replaced as a whole by a rename: whoever reads it sees an old one or a new one.
enum IndexSnapshot {
    /// Copies what is committed, beside readers and writers.
    ///
    /// - Parameter run: where the copy is made before it takes the old one's place.
    static func take(
        of database: any DatabaseReader, in directory: CacheDirectory, run: RunDirectory
    ) throws(CacheError) {
        let name = run.uniqueName()
        do {
            let copy = try DatabaseFile(of: run, name, in: directory).open(.making)
            try database.backup(to: copy)
            // The copy says that it has a log, as the index does, and nobody would find one.
            try copy.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = MEMORY") }
            try copy.close()
        } catch {
            run.remove(name)
            throw CacheError(index: CacheLayout.snapshot, error)
        }
        try publish(name, of: run, as: CacheLayout.snapshot, in: directory)
    }

    /// Gives a finished database its name in the root, durably.
    static func publish(
        _ file: String, of run: RunDirectory, as name: String, in directory: CacheDirectory
    ) throws(CacheError) {
        try Durability.add(try run.directory.open(file, flags: O_RDONLY))
        try Durability.flush(directory.root)
        try run.directory.rename(file, to: directory.root, as: name)
        try Durability.add(directory.root)
        try Durability.flush(directory.root)
    }
}
