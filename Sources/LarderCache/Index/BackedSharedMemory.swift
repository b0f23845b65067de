import Foundation
import GRDBSQLite

/// The memory that connections to a log share, a mapped file, with room on the disk taken for all of it before
/// it is used. SQLite takes it for 4 KiB by a byte, which is not enough where blocks are smaller, and the first
/// write to the rest of a full disk's would end the process with SIGBUS.
enum BackedSharedMemory {
    /// A file's methods, of which one is replaced, and those that it had.
    private struct Methods {
        // First, because SQLite takes a pointer to all of this for one to these.
        var replaced: sqlite3_io_methods
        let original: UnsafePointer<sqlite3_io_methods>
    }

    private static let lock = NSLock()
    /// By their originals, of which there are a handful; never freed, because open files point at them.
    /// Unsafe because it is a variable; every access holds `lock`.
    private nonisolated(unsafe) static var known:
        [UnsafePointer<sqlite3_io_methods>: UnsafeMutablePointer<Methods>] = [:]

    /// The methods of a file that has `original`.
    static func methods(
        over original: UnsafePointer<sqlite3_io_methods>
    ) -> UnsafePointer<sqlite3_io_methods> {
        guard original.pointee.iVersion >= 2, original.pointee.xShmMap != nil else {
            return original
        }
        let methods = lock.withLock {
            if let methods = known[original] { return methods }
            let methods = UnsafeMutablePointer<Methods>.allocate(capacity: 1)
            methods.initialize(to: Methods(replaced: original.pointee, original: original))
            methods.pointee.replaced.xShmMap = { file, region, size, isExtending, address in
                BackedSharedMemory.map(file, region, size, isExtending, address)
            }
            known[original] = methods
            return methods
        }
        return UnsafeRawPointer(methods).assumingMemoryBound(to: sqlite3_io_methods.self)
    }

    private static func map(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ region: CInt, _ size: CInt,
        _ isExtending: CInt, _ address: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> CInt {
        guard let file, let address, let own = file.pointee.pMethods else { return SQLITE_MISUSE }
        let original = UnsafeRawPointer(own).assumingMemoryBound(to: Methods.self).pointee.original
        guard let map = original.pointee.xShmMap else { return SQLITE_MISUSE }
        let code = map(file, region, size, isExtending, address)
        guard code == SQLITE_OK, let start = address.pointee, !takeRoom(start, Int(size)) else {
            return code
        }
        // SQLite keeps the address for the next time, else.
        address.pointee = nil
        return SQLITE_FULL
    }

    /// False where the disk has no room; true, too, where the system cannot tell (Linux before 5.14).
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
