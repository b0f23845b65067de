import CLarderGuard
import Foundation
import GRDBSQLite

/// How SQLite uses an open file of a cache: as any other, but for some methods.
///
/// - What the disk cannot read is not damaged. SQLite calls it corrupt, and the index would be
///   rebuilt.
/// - The memory that connections to a log share, a mapped file, has room on the disk for all of it
///   before it is used. SQLite takes it for 4 KiB by a byte, which is not enough where blocks are
///   smaller, and the first write to the rest of a full disk's would end the process with SIGBUS.
/// - Once that memory was lost to a failing disk (``SharedMemory``), nothing is read, written or
///   locked any more.
enum ConfinedFile {
    fileprivate struct Methods {
        // First, because SQLite takes a pointer to all of this for one to these.
        var replaced: sqlite3_io_methods
        let original: UnsafePointer<sqlite3_io_methods>
    }

    private static let lock = NSLock()
    private struct Kind: Hashable {
        let original: UnsafePointer<sqlite3_io_methods>
        let isFrozen: Bool
    }

    /// By their originals, of which there are a handful; never freed, because open files point at
    /// them. Unsafe because it is a variable; every access holds `lock`.
    private nonisolated(unsafe) static var known: [Kind: UnsafeMutablePointer<Methods>] = [:]

    /// The methods of a file that has `original`. Locks of a frozen file do nothing.
    static func methods(
        over original: UnsafePointer<sqlite3_io_methods>, isFrozen: Bool
    ) -> UnsafePointer<sqlite3_io_methods> {
        let methods = lock.withLock {
            let kind = Kind(original: original, isFrozen: isFrozen)
            if let methods = known[kind] { return methods }
            let methods = UnsafeMutablePointer<Methods>.allocate(capacity: 1)
            methods.initialize(to: Methods(replaced: original.pointee, original: original))
            replace(&methods.pointee.replaced)
            if isFrozen {
                // A lock for writing is refused on a file that is open for reading (fcntl(2)).
                methods.pointee.replaced.xLock = { _, _ in SQLITE_OK }
                methods.pointee.replaced.xUnlock = { _, _ in SQLITE_OK }
                methods.pointee.replaced.xCheckReservedLock = { _, result in
                    result?.pointee = 0
                    return SQLITE_OK
                }
            }
            known[kind] = methods
            return methods
        }
        return UnsafeRawPointer(methods).assumingMemoryBound(to: sqlite3_io_methods.self)
    }

    /// Once shared memory is lost, each of them fails: nobody knows where the newest pages are.
    private static func replace(_ methods: inout sqlite3_io_methods) {
        // The numbers are those of macros that C has alone.
        methods.xRead = { file, bytes, count, offset in
            guard let read = original(of: file)?.pointee.xRead else { return SQLITE_MISUSE }
            let (readError, corruptFileSystem) = (SQLITE_IOERR | 1 << 8, SQLITE_IOERR | 33 << 8)
            if SharedMemory.isLost { return readError }
            let code = read(file, bytes, count, offset)
            return code == corruptFileSystem ? readError : code
        }
        methods.xWrite = { file, bytes, count, offset in
            guard let write = original(of: file)?.pointee.xWrite else { return SQLITE_MISUSE }
            // SQLITE_IOERR_WRITE
            return SharedMemory.isLost ? SQLITE_IOERR | 3 << 8 : write(file, bytes, count, offset)
        }
        methods.xSync = { file, flags in
            guard let sync = original(of: file)?.pointee.xSync else { return SQLITE_MISUSE }
            // SQLITE_IOERR_FSYNC
            return SharedMemory.isLost ? SQLITE_IOERR | 4 << 8 : sync(file, flags)
        }
        guard methods.iVersion >= 2, methods.xShmMap != nil else { return }
        methods.xShmLock = { file, place, count, flags in
            guard let lock = original(of: file)?.pointee.xShmLock else { return SQLITE_MISUSE }
            // SQLITE_IOERR_SHMLOCK; but a lock is given up.
            let isRefused = SharedMemory.isLost && flags & SQLITE_SHM_LOCK != 0
            return isRefused ? SQLITE_IOERR | 20 << 8 : lock(file, place, count, flags)
        }
        methods.xShmMap = { file, region, size, isExtending, address in
            guard let address, let map = original(of: file)?.pointee.xShmMap else {
                return SQLITE_MISUSE
            }
            let code = map(file, region, size, isExtending, address)
            guard code == SQLITE_OK, let start = address.pointee, !takeRoom(start, Int(size)) else {
                return code
            }
            // SQLite keeps the address for the next time, else.
            address.pointee = nil
            return SQLITE_FULL
        }
    }
}

private func original(
    of file: UnsafeMutablePointer<sqlite3_file>?
) -> UnsafePointer<sqlite3_io_methods>? {
    guard let own = file?.pointee.pMethods else { return nil }
    return UnsafeRawPointer(own).assumingMemoryBound(to: ConfinedFile.Methods.self).pointee.original
}

/// False if the disk has no room; true, too, if the system cannot tell (Linux before 5.14).
private func takeRoom(_ start: UnsafeMutableRawPointer, _ count: Int) -> Bool {
    #if os(Linux)
        // MADV_POPULATE_WRITE, which older headers lack (madvise(2)).
        let populateForWriting: CInt = 23
        let page = sysconf(CInt(_SC_PAGESIZE))
        let lead = Int(bitPattern: start) % page
        return madvise(start - lead, count + lead, populateForWriting) == 0
            || ![EFAULT, ENOSPC, EDQUOT].contains(errno)
    #else
        return true
    #endif
}

/// How SQLite reaches the files of a cache: as any other, but for the names that it derives. An
/// index may be somebody else's, and so may be what lies beside it:
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
/// ``CacheDirectory`` refuses anything that is not a regular file. Paths are used as they are:
/// SQLite would replace the link in `/proc/self/fd` by the path that it shows, and open what is
/// there by then. Chosen by a URI's parameter `vfs`, so that an app's other databases know nothing
/// of it.
enum ConfinedFileSystem {
    static let name = "larder"
    /// For a database that is being made in a directory of this run's own: it may have a journal.
    static let draftName = "larder-draft"
    /// The same, for files that cannot be written and so cannot be locked.
    static let frozenName = "larder-frozen"

    static func register() { _ = registration }

    private static let registration: Void = {
        register(named: draftName, make())
        confine(name)
        confine(frozenName)
    }()

    private static func confine(_ name: String) {
        var confined = make()
        confined.xOpen = { own, name, file, flags, outFlags in
            // What has no name is SQLite's own, in the system's temporary directory.
            if name != nil, flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL) == 0 {
                file?.pointee.pMethods = nil
                return SQLITE_CANTOPEN
            }
            let code = system.pointee.xOpen(system, name, file, flags, outFlags)
            if code == SQLITE_OK, let file, let methods = file.pointee.pMethods, let own {
                file.pointee.pMethods = ConfinedFile.methods(
                    over: methods,
                    isFrozen: strcmp(own.pointee.zName, ConfinedFileSystem.frozenName) == 0)
            }
            return code
        }
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
}

/// SQLite's own way to files. Unsafe because it is a pointer: to a constant of SQLite's, which is
/// never unregistered. An app may have chosen another one for its own databases.
private nonisolated(unsafe) let system: UnsafeMutablePointer<sqlite3_vfs> =
    sqlite3_vfs_find("unix") ?? sqlite3_vfs_find(nil)

/// The memory that processes share beside an index. Once its disk has failed, a write to it ends a
/// process with SIGBUS, because the page cannot be made writable again.
package enum SharedMemory {
    /// Makes such a write go nowhere. From then on every access to an index fails. For programs
    /// only, because a signal handler belongs to the process. Linux only.
    package static func guardAgainstFailingDisk() { larder_guard_shared_memory() }
    static var isLost: Bool { larder_shared_memory_is_lost() }
}
