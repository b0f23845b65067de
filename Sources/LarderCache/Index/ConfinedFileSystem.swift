import Foundation
import GRDBSQLite

/// How SQLite reaches the files of a cache: as it reaches all others on this system, but for the
/// names that it derives. An index may be somebody else's, and so may be what lies beside it:
///
/// - `-journal`: never there, never opened. An index is in WAL mode, and what has no log is written
///   without a journal's file. SQLite would play a foreign one back, and then delete the file that
///   it names as its super-journal, wherever that is.
/// - super-journals: never opened, never deleted.
/// - `-wal`: pages over those of the index, so as hostile as these, and no more; SQLite reads it up
///   to the first frame that does not check. It alone is deleted, by who leaves the index last.
/// - `-shm`: who comes first empties it, so what is planted there is never read. Its room is taken
///   before it is used.
/// - what `ATTACH` names: no other statements than this package's are run.
///
/// A link, a pipe or anything else that is not a regular file is refused before SQLite is asked
/// (``CacheDirectory``).
///
/// Paths are used as they are. SQLite would replace the link in `/proc/self/fd` by the path that it
/// shows, and open what is there by then.
///
/// Chosen by a URI's parameter `vfs`, so that an app's other databases know nothing of it.
enum ConfinedFileSystem {
    static let name = "larder"
    /// The same for a database that is only just made, in a directory of this run's own: it may
    /// have a journal.
    static let draftName = "larder-draft"
    /// The same, for files that cannot be written and so cannot be locked.
    static let frozenName = "larder-frozen"

    /// Makes all known to SQLite; once.
    static func register() { _ = registration }

    private static let registration: Void = {
        register(named: draftName, make())
        confine(name) { _, name, file, flags, outFlags in
            ConfinedFileSystem.open(name, file, flags, outFlags, isFrozen: false)
        }
        confine(frozenName) { _, name, file, flags, outFlags in
            ConfinedFileSystem.open(name, file, flags, outFlags, isFrozen: true)
        }
    }()

    private typealias Open =
        @convention(c) (
            UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?,
            UnsafeMutablePointer<sqlite3_file>?, CInt, UnsafeMutablePointer<CInt>?
        ) -> CInt

    private static func confine(_ name: String, _ open: @escaping Open) {
        var confined = make()
        confined.xOpen = open
        confined.xDelete = { _, name, syncsDirectory in
            guard let name, String(cString: name).hasSuffix("-wal") else {
                // SQLITE_IOERR_DELETE, a macro that C has alone.
                return SQLITE_IOERR | 10 << 8
            }
            return system.pointee.xDelete(system, name, syncsDirectory)
        }
        confined.xAccess = { _, name, flags, result in
            guard let name, !String(cString: name).hasSuffix("-journal") else {
                result?.pointee = 0
                return SQLITE_OK
            }
            return system.pointee.xAccess(system, name, flags, result)
        }
        register(named: name, confined)
    }

    /// The system's own, but for its names.
    private static func make() -> sqlite3_vfs {
        var made = system.pointee
        made.pNext = nil
        made.xFullPathname = { _, path, size, full in
            guard let path, let full, strlen(path) < Int(size) else { return SQLITE_CANTOPEN }
            strcpy(full, path)
            return SQLITE_OK
        }
        return made
    }

    /// Never freed: SQLite keeps it as long as the process lives.
    private static func register(named name: String, _ vfs: sqlite3_vfs) {
        let place = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        place.initialize(to: vfs)
        place.pointee.zName = UnsafePointer(strdup(name))
        sqlite3_vfs_register(place, 0)
    }

    private static func open(
        _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: CInt,
        _ outFlags: UnsafeMutablePointer<CInt>?, isFrozen: Bool
    ) -> CInt {
        // What has no name is SQLite's own, in the system's temporary directory.
        if name != nil, flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL) == 0 {
            file?.pointee.pMethods = nil
            return SQLITE_CANTOPEN
        }
        let code = system.pointee.xOpen(system, name, file, flags, outFlags)
        if code == SQLITE_OK, let file, let methods = file.pointee.pMethods {
            file.pointee.pMethods = ConfinedFile.methods(over: methods, isFrozen: isFrozen)
        }
        return code
    }
}

/// SQLite's own way to files. Unsafe because it is a pointer: to a constant of SQLite's, which is
/// never unregistered. An app may have chosen another one for its own databases.
private nonisolated(unsafe) let system: UnsafeMutablePointer<sqlite3_vfs> =
    sqlite3_vfs_find("unix") ?? sqlite3_vfs_find(nil)
