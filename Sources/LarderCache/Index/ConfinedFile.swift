import Foundation
import GRDBSQLite

/// What SQLite does with a file of a cache that it has opened: as with all others, but for some
/// methods.
///
/// - What the disk cannot read is not damaged. SQLite calls it corrupt, and the index would be
///   rebuilt.
/// - The memory that connections to a log share, a mapped file, has room on the disk for all of it
///   before it is used. SQLite takes it for 4 KiB by a byte, which is not enough where blocks are
///   smaller, and the first write to the rest of a full disk's would end the process with SIGBUS.
/// - Once that memory was lost to a failing disk (``SharedMemory``), nothing is read, written or
///   locked any more.
enum ConfinedFile {
    /// A file's methods, of which some are replaced, and those that it had.
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

    /// The methods of a file that has `original`.
    ///
    /// - Parameter isFrozen: Whether locks do nothing, because the file cannot be written.
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

    /// Once shared memory is lost, each of them fails: nobody knows any more where the newest pages
    /// are.
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
