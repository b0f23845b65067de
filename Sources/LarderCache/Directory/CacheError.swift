import Foundation
import GRDB
import GRDBSQLite
import LarderCore

/// An error of a cache operation.
public struct CacheError: Error, Sendable, CustomStringConvertible {
    /// The kind of error. Determines the exit status.
    public enum Code: String, Sendable, CaseIterable {
        /// The disk is full or failing, or was remounted read-only: ENOSPC, EDQUOT, EIO, EROFS.
        case storage
        /// The root cannot be used because of permissions, a link or a network file system, or the
        /// process lacks memory, threads or file descriptors.
        case unusable
        /// No cache exists at the path.
        case missing
        /// Another process holds the lock.
        case locked
        /// The index has an unknown version or was replaced during use.
        case index
        /// The index is damaged. The next run that writes rebuilds it.
        case damaged
        /// An object's file is missing, or its digest is wrong.
        case corrupt
        /// An object's file is inaccessible, not a regular file, or sparse and therefore not read.
        case obstructed
    }

    /// The kind of error.
    public let code: Code
    /// The file, directory, URL or digest concerned.
    public let subject: String
    /// The description, without the subject.
    public internal(set) var message: String
    /// The error number of a failed system call.
    public let errno: Int32?
    var isLocated = false
}

extension CacheError {
    /// Creates an error without `errno`.
    public init(_ code: Code, subject: String, message: String) {
        self.init(code: code, subject: subject, message: message, errno: nil)
    }

    /// Creates an error for a failed system call, with the code for `errno`.
    public init(_ call: String, subject: String, errno: Int32) {
        let code: Code =
            switch errno {
            case ENOSPC, EDQUOT, EIO, EROFS: .storage
            case EWOULDBLOCK: .locked
            default: .unusable
            }
        let advice = errno == EROFS ? "; mount it for writing, or copy the cache elsewhere" : ""
        let message = "\(call): \(String(cString: strerror(errno)))\(advice)"
        self.init(code: code, subject: subject, message: message, errno: errno)
    }

    init(unusable subject: String, _ message: String) {
        self.init(.unusable, subject: subject, message: message)
    }

    init(corrupt digest: Digest, _ message: String) {
        self.init(.corrupt, subject: "\(digest)", message: message)
    }

    init(sparse subject: String, size: Int64, _ status: stat) {
        self.init(
            code: .obstructed, subject: subject,
            message: "was not read because it is sparse: only \(status.allocatedBytes) of"
                + " its \(size) bytes are allocated on disk", errno: EFBIG)
    }

    /// Converts SQLite errors to errors about `subject`, so that a full disk is reported.
    package static func naming<Value>(
        _ subject: String, _ body: () throws -> Value
    ) throws -> Value {
        do { return try body() } catch let error as DatabaseError {
            throw CacheError(index: subject, error)
        }
    }

    /// Creates an error for a failed operation on the index or a temporary database.
    public init(index subject: String, _ error: any Error) {
        guard let error = error as? DatabaseError else {
            self.init(.index, subject: subject, message: "\(error)")
            return
        }
        let message = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
        switch error.resultCode {
        case .SQLITE_FULL: self.init("write", subject: subject, errno: ENOSPC)
        case .SQLITE_IOERR where !HelperThread.hasRoom(1 << 20), .SQLITE_NOMEM:
            self.init(unusable: subject, "out of memory (ulimit -v)")
        case .SQLITE_IOERR where Self.isFull(subject):
            self.init("write", subject: subject, errno: ENOSPC)
        case .SQLITE_IOERR:
            // The message may come from the wrong connection, because copying a database uses two.
            let message = String(cString: sqlite3_errstr(SQLITE_IOERR))
            self.init(.storage, subject: subject, message: message + Self.fileLimit)
        case .SQLITE_BUSY, .SQLITE_LOCKED: self.init(.locked, subject: subject, message: message)
        case .SQLITE_READONLY where error.extendedResultCode == .SQLITE_READONLY_DBMOVED,
            .SQLITE_PERM, .SQLITE_AUTH:
            self.init(unusable: subject, message)
        case .SQLITE_READONLY, .SQLITE_CANTOPEN: self.init(unopened: subject, message)
        // A file without Larder's tables causes SQLITE_ERROR.
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT, .SQLITE_ERROR, .SQLITE_TOOBIG,
            .SQLITE_MISMATCH:
            self.init(damaged: subject, message)
        case .SQLITE_INTERRUPT:  // Raised by ``StepLimit``.
            self.init(damaged: subject, "a query exceeded the step limit for an index of this size")
        default: self.init(.index, subject: subject, message: message)
        }
    }

    private init(damaged subject: String, _ message: String) {
        self.init(
            .damaged, subject: subject,
            message: "\(message); to rebuild the index, prefetch again or run"
                + " \(Suggestion.command("reindex"))")
    }

    private init(unopened subject: String, _ message: String) {
        func refusal(of path: String, _ mode: Int32) -> Int32 {
            faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 ? 0 : Foundation.errno
        }
        var number = subject.hasPrefix("/") ? refusal(of: subject, R_OK | W_OK) : 0
        // If the file is missing, SQLite tried to create it.
        if number == ENOENT { number = refusal(of: subject.parentDirectory, W_OK | X_OK) }
        if Self.isShortOfDescriptors { number = EMFILE }
        if [0, EIO, EROFS].contains(number) {
            self.init(.storage, subject: subject, message: message)
        } else {
            self.init("open", subject: subject, errno: number)
        }
    }

    /// Whether the disk is full, which SQLite reports as an I/O error for mapped files.
    private static func isFull(_ path: String) -> Bool {
        var status = statvfs()
        guard path.hasPrefix("/"), statvfs(path.parentDirectory, &status) == 0 else { return false }
        return Int64(status.f_bavail) * Int64(status.f_frsize) < 256 << 10
    }

    private static var fileLimit: String {
        var limit = rlimit()
        #if canImport(Glibc)
            let isKnown = getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0
        #else
            let isKnown = getrlimit(RLIMIT_FSIZE, &limit) == 0
        #endif
        guard isKnown, limit.rlim_cur < Int64.max else { return "" }
        return " (the limit on file sizes is \(limit.rlim_cur) bytes: ulimit -f)"
    }

    /// Adds advice to the message and, if the subject is relative, the cache's path to the subject.
    public func located(inCacheAt path: String) -> CacheError {
        guard !isLocated else { return self }
        let isRelative = errno != nil && !subject.hasPrefix("/") && !subject.contains("://")
        let isOwn = CacheLayout.ownNames.contains { "\(subject)/".hasPrefix("\($0)/") }
        return CacheError(
            code: code, subject: isRelative ? path + (isOwn ? "/" : ": ") + subject : subject,
            message: message + (hint(inCacheAt: path).map { "; \($0)" } ?? ""), errno: errno,
            isLocated: true)
    }

    private func hint(inCacheAt path: String) -> String? {
        let isOfCache = !subject.hasPrefix("/") || "\(subject)/".hasPrefix("\(path)/")
        return switch errno {
        case ENOSPC where isOfCache: Self.adviceOnFullDisk(at: path)
        case EDQUOT where isOfCache: "raise the quota, or run larder evict with --max-size"
        case EACCES where isOfCache: "run as its owner, or give this user access"
        case ENOTDIR where subject.isSame(as: path): "name a directory with --cache"
        case EMFILE, ENFILE: "the limit on open files is too low (ulimit -n)"
        default: nil
        }
    }

    private static func adviceOnFullDisk(at path: String) -> String {
        var status = statvfs()
        let isKnown = statvfs(path, &status) == 0
        let (size, free) = (Double(status.f_blocks), Double(status.f_bavail))
        let wanted = isKnown ? min(max(1e3, size * Double(status.f_frsize) / 10), 1e9) : 1e9
        let (unit, name) = wanted < 1e6 ? (1e3, "kB") : wanted < 1e9 ? (1e6, "MB") : (1e9, "GB")
        let count = Int(wanted / unit)
        let missing = Double(count) * unit - free * Double(status.f_frsize)
        return hasObjects(ofBytes: missing, in: path)
            ? "to free space: \(Suggestion.command("evict --min-free \(count)\(name)"))"
            : "remove other files from its disk, or choose another disk with --cache"
    }

    /// Whether the objects have at least `wanted` bytes. Also true for more than 100,000 files,
    /// because counting takes long.
    private static func hasObjects(ofBytes wanted: Double, in path: String) -> Bool {
        let objects = FileManager.default.enumerator(atPath: "\(path)/\(CacheLayout.objects)")
        var bytes = 0.0
        for _ in 0..<100_000 where bytes < wanted {
            guard objects?.nextObject() != nil else { return false }
            let file = objects?.fileAttributes ?? [:]
            guard file[.type] as? FileAttributeType == .typeRegular else { continue }
            bytes += (file[.size] as? NSNumber)?.doubleValue ?? 0
        }
        return true
    }

    private static var isShortOfDescriptors: Bool {
        let opened = (0..<8).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
        for descriptor in opened where descriptor >= 0 { close(descriptor) }
        return opened.contains { $0 < 0 }
    }

    /// The subject and the message.
    public var description: String { "\(subject): \(message)" }

    var isDamage: Bool { code == .damaged }
    var isAbsence: Bool { [ENOENT, ENOTDIR, ELOOP, ENXIO].contains(errno) }
    var isOutOfReach: Bool { isAbsence || errno == EACCES }
    package var isSparse: Bool { code == .obstructed && errno == EFBIG }
    package var isOfDamagedObject: Bool { code == .corrupt || isSparse }

    package var isOfObject: Bool {
        code == .corrupt || code == .obstructed
            || [EACCES, EIO].contains(errno) && subject.utf8.starts(with: "objects/".utf8)
    }

    var obstruction: CacheError? {
        let advice: String
        switch errno {
        case EISDIR, ENOTDIR, ELOOP, ENXIO:
            advice = "; to move it to quarantine/: \(Suggestion.command("verify --repair"))"
        case EACCES, EPERM, EBUSY, EXDEV: advice = ""
        default: return nil
        }
        return CacheError(.obstructed, subject: subject, message: message + advice)
    }

    var concernsFile: Bool { errno != nil && ![EMFILE, ENFILE, ENOMEM].contains(errno) }
}
