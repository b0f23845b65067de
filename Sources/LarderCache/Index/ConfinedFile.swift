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
    private struct Methods {
        // First, because SQLite takes a pointer to all of this for one to these.
        var replaced: sqlite3_io_methods
        let original: UnsafePointer<sqlite3_io_methods>
    }

    private static let lock = NSLock()
    /// By their originals, of which there are a handful; never freed, because open files point at
    /// them. Unsafe because it is a variable; every access holds `lock`.
    private nonisolated(unsafe) static var known:
        [UnsafePointer<sqlite3_io_methods>: UnsafeMutablePointer<Methods>] = [:]

    /// The methods of a file that has `original`.
    static func methods(
        over original: UnsafePointer<sqlite3_io_methods>
    ) -> UnsafePointer<sqlite3_io_methods> {
        let methods = lock.withLock {
            if let methods = known[original] { return methods }
            let methods = UnsafeMutablePointer<Methods>.allocate(capacity: 1)
            methods.initialize(to: Methods(replaced: original.pointee, original: original))
            methods.pointee.replaced.xRead = { file, bytes, count, offset in
                ConfinedFile.read(file, bytes, count, offset)
            }
            methods.pointee.replaced.xWrite = { file, bytes, count, offset in
                ConfinedFile.write(file, bytes, count, offset)
            }
            methods.pointee.replaced.xSync = { file, flags in ConfinedFile.sync(file, flags) }
            if original.pointee.iVersion >= 2, original.pointee.xShmMap != nil {
                methods.pointee.replaced.xShmMap = { file, region, size, isExtending, address in
                    ConfinedFile.map(file, region, size, isExtending, address)
                }
                methods.pointee.replaced.xShmLock = { file, place, count, flags in
                    ConfinedFile.lockMemory(file, place, count, flags)
                }
            }
            known[original] = methods
            return methods
        }
        return UnsafeRawPointer(methods).assumingMemoryBound(to: sqlite3_io_methods.self)
    }

    private static func original(
        of file: UnsafeMutablePointer<sqlite3_file>?
    ) -> UnsafePointer<sqlite3_io_methods>? {
        guard let own = file?.pointee.pMethods else { return nil }
        return UnsafeRawPointer(own).assumingMemoryBound(to: Methods.self).pointee.original
    }

    private static func read(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeMutableRawPointer?,
        _ count: CInt, _ offset: sqlite3_int64
    ) -> CInt {
        guard let read = original(of: file)?.pointee.xRead else { return SQLITE_MISUSE }
        // Nobody knows any more where the newest pages are.
        if SharedMemory.isLost { return SQLITE_IOERR | 1 << 8 }
        let code = read(file, bytes, count, offset)
        // SQLITE_IOERR_CORRUPTFS and SQLITE_IOERR_READ, macros that C has alone.
        return code == SQLITE_IOERR | 33 << 8 ? SQLITE_IOERR | 1 << 8 : code
    }

    private static func write(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?,
        _ count: CInt, _ offset: sqlite3_int64
    ) -> CInt {
        guard let write = original(of: file)?.pointee.xWrite else { return SQLITE_MISUSE }
        // SQLITE_IOERR_WRITE
        return SharedMemory.isLost ? SQLITE_IOERR | 3 << 8 : write(file, bytes, count, offset)
    }

    private static func sync(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: CInt
    ) -> CInt {
        guard let sync = original(of: file)?.pointee.xSync else { return SQLITE_MISUSE }
        // SQLITE_IOERR_FSYNC
        return SharedMemory.isLost ? SQLITE_IOERR | 4 << 8 : sync(file, flags)
    }

    private static func lockMemory(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ place: CInt, _ count: CInt, _ flags: CInt
    ) -> CInt {
        guard let lock = original(of: file)?.pointee.xShmLock else { return SQLITE_MISUSE }
        // SQLITE_IOERR_SHMLOCK; but a lock is given up.
        let isRefused = SharedMemory.isLost && flags & SQLITE_SHM_LOCK != 0
        return isRefused ? SQLITE_IOERR | 20 << 8 : lock(file, place, count, flags)
    }

    private static func map(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ region: CInt, _ size: CInt,
        _ isExtending: CInt, _ address: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> CInt {
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

    /// False if the disk has no room; true, too, where the system cannot tell (Linux before
    /// 5.14).
    private static func takeRoom(_ start: UnsafeMutableRawPointer, _ count: Int) -> Bool {
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
}
