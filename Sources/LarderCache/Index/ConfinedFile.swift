import CLarderGuard
import Foundation
import GRDBSQLite

/// SQLite's methods for an open file of a cache. Some methods are replaced:
///
/// - A read error is not reported as corruption, which would lead to a rebuild of the index.
/// - Shared memory gets its disk blocks before use. Otherwise, a full disk would cause SIGBUS.
/// - After shared memory was lost to a failing disk (``SharedMemory``), all methods fail, because
///   the newest pages cannot be found.
enum ConfinedFile {
    fileprivate struct Methods {
        // This member must be first, because SQLite reads its methods at this address.
        var replaced: sqlite3_io_methods
        let original: UnsafePointer<sqlite3_io_methods>
    }

    private static let lock = NSLock()
    /// The replaced methods, which are never freed, because open files use them. Unsafe because the
    /// array is a variable. `lock` guards it.
    private nonisolated(unsafe) static var known:
        [(isFrozen: Bool, methods: UnsafeMutablePointer<Methods>)] = []

    static func methods(
        over original: UnsafePointer<sqlite3_io_methods>, isFrozen: Bool
    ) -> UnsafePointer<sqlite3_io_methods> {
        let methods = lock.withLock {
            let match = known.first {
                $0.isFrozen == isFrozen && $0.methods.pointee.original == original
            }
            if let match { return match.methods }
            let methods = UnsafeMutablePointer<Methods>.allocate(capacity: 1)
            methods.initialize(to: Methods(replaced: original.pointee, original: original))
            replace(&methods.pointee.replaced)
            if isFrozen {
                // A file that is open for reading cannot be locked for writing (fcntl(2)).
                methods.pointee.replaced.xLock = { _, _ in SQLITE_OK }
                methods.pointee.replaced.xUnlock = { _, _ in SQLITE_OK }
                methods.pointee.replaced.xCheckReservedLock = { _, result in
                    result?.pointee = 0
                    return SQLITE_OK
                }
            }
            known.append((isFrozen, methods))
            return methods
        }
        return UnsafeRawPointer(methods).assumingMemoryBound(to: sqlite3_io_methods.self)
    }

    private static func replace(_ methods: inout sqlite3_io_methods) {
        // Swift does not import SQLite's names for these error codes.
        methods.xRead = { file, bytes, count, offset in
            let (readError, corruptFileSystem) = (SQLITE_IOERR | 1 << 8, SQLITE_IOERR | 33 << 8)
            if SharedMemory.isLost { return readError }
            let code = original(of: file).xRead(file, bytes, count, offset)
            return code == corruptFileSystem ? readError : code
        }
        methods.xWrite = { file, bytes, count, offset in
            // SQLITE_IOERR_WRITE
            SharedMemory.isLost
                ? SQLITE_IOERR | 3 << 8 : original(of: file).xWrite(file, bytes, count, offset)
        }
        methods.xSync = { file, flags in
            // SQLITE_IOERR_FSYNC
            SharedMemory.isLost ? SQLITE_IOERR | 4 << 8 : original(of: file).xSync(file, flags)
        }
        guard methods.iVersion >= 2, methods.xShmMap != nil else { return }
        methods.xShmLock = { file, place, count, flags in
            // SQLITE_IOERR_SHMLOCK. Releasing a lock must still be possible.
            let isRefused = SharedMemory.isLost && flags & SQLITE_SHM_LOCK != 0
            if isRefused { return SQLITE_IOERR | 20 << 8 }
            return original(of: file).xShmLock(file, place, count, flags)
        }
        methods.xShmMap = { file, region, size, isExtending, address in
            let code = original(of: file).xShmMap(file, region, size, isExtending, address)
            guard code == SQLITE_OK, let start = address?.pointee, !allocateBlocks(start, Int(size))
            else { return code }
            // Despite the error, SQLite would use an address that is not nil.
            address?.pointee = nil
            return SQLITE_FULL
        }
    }
}

/// Returns the original methods. SQLite passes only files that have ``ConfinedFile/Methods``.
private func original(of file: UnsafeMutablePointer<sqlite3_file>?) -> sqlite3_io_methods {
    UnsafeRawPointer(file!.pointee.pMethods!)
        .assumingMemoryBound(to: ConfinedFile.Methods.self).pointee.original.pointee
}

/// Allocates disk blocks for mapped memory (since Linux 5.14). Returns false if the disk is full.
private func allocateBlocks(_ start: UnsafeMutableRawPointer, _ count: Int) -> Bool {
    #if os(Linux)
        // MADV_POPULATE_WRITE (madvise(2)), which older headers do not define.
        let populateForWriting: CInt = 23
        let page = sysconf(CInt(_SC_PAGESIZE))
        let lead = Int(bitPattern: start) % page
        return madvise(start - lead, count + lead, populateForWriting) == 0
            || ![EFAULT, ENOSPC, EDQUOT].contains(errno)
    #else
        return true
    #endif
}

/// SQLite's file systems for a cache, whose files may come from another user. URIs select one with
/// `vfs`, so an app's other databases are not affected.
///
/// - `-journal` and super-journals: never opened or deleted, because no database has journals.
///   SQLite would apply a foreign journal and delete its super-journal, which can be anywhere.
/// - `-wal`: trusted no more than the index. SQLite reads it up to the first wrong checksum, and
///   may delete only this file.
/// - `-shm`: cleared by the first process that opens it, so planted contents are never read.
/// - other databases: opened only by `ATTACH` in this package's statements.
///
/// Links in `/proc/self/fd` are not resolved, because the path of their target may be replaced.
enum ConfinedFileSystem {
    static let name = "larder"
    /// The file system for new databases of a run. These databases may have journals.
    static let draftName = "larder-draft"
    /// The file system for files that can be neither written nor locked.
    static let frozenName = "larder-frozen"

    /// Registers the file systems. SQLite uses their structures until the process ends.
    static let registration: Void = {
        for own in [draftName, name, frozenName] {
            let place = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
            place.initialize(to: system.pointee)
            place.pointee.pNext = nil
            place.pointee.zName = UnsafePointer(strdup(own))
            place.pointee.xFullPathname = { _, path, size, full in
                guard let path, let full, strlen(path) < Int(size) else { return SQLITE_CANTOPEN }
                strcpy(full, path)
                return SQLITE_OK
            }
            if own != draftName { confine(&place.pointee) }
            sqlite3_vfs_register(place, 0)
        }
    }()

    private static func confine(_ files: inout sqlite3_vfs) {
        files.xOpen = { own, name, file, flags, outFlags in
            // Only SQLite's own temporary files have no name.
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
        files.xDelete = { _, name, syncsDirectory in
            guard let name, String(cString: name).hasSuffix("-wal") else {
                // SQLITE_IOERR_DELETE
                return SQLITE_IOERR | 10 << 8
            }
            return system.pointee.xDelete(system, name, syncsDirectory)
        }
        files.xAccess = { _, name, flags, result in
            guard let name, !String(cString: name).hasSuffix("-journal") else {
                result?.pointee = 0
                return SQLITE_OK
            }
            return system.pointee.xAccess(system, name, flags, result)
        }
    }
}

/// SQLite's own file system, never unregistered. Unsafe because pointers are not `Sendable`.
private nonisolated(unsafe) let system: UnsafeMutablePointer<sqlite3_vfs> =
    sqlite3_vfs_find("unix") ?? sqlite3_vfs_find(nil)

/// A mapped file that processes share. After a disk failure, a write to it raises SIGBUS.
package enum SharedMemory {
    /// Handles SIGBUS, so that a failed write does not end the process. Later accesses to an index
    /// fail. Not for libraries, because a process has only one handler per signal. Linux only.
    package static func guardAgainstFailingDisk() { larder_guard_shared_memory() }
    static var isLost: Bool { larder_shared_memory_is_lost() }
}
