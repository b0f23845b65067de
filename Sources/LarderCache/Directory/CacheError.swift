import Foundation
import GRDB
import GRDBSQLite

/// What stops work on a cache: a code, the subject it happened to, and the cause beneath.
public struct CacheError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it is; decides the exit status.
    public enum Code: String, Sendable, CaseIterable {
        /// The disk is full or failing, or turned read-only: ENOSPC, EDQUOT, EIO, EROFS.
        case storage
        /// The root cannot be used as a cache: permissions, a link, a network file system. Or the
        /// process has no file descriptor left.
        case unusable
        /// There is no cache at that path.
        case missing
        /// Another process holds the lock.
        case locked
        /// The index cannot be used as it is: of a version this program does not know, or replaced
        /// while it was in use.
        case index
        /// The index is damaged; the next run that writes rebuilds it.
        case damaged
        /// An object's bytes do not have its digest, or are gone.
        case corrupt
        /// Something that is not the cache's own, or may not be entered, is in the place of one
        /// object or directory of objects. Or an object's file is sparse and was not read.
        case obstructed
    }

    /// What kind of failure it is.
    public let code: Code
    /// The file, directory, URL or digest concerned.
    public let subject: String
    /// What happened, in words.
    public let message: String
    /// The system's error number, if one is behind it.
    public let errno: Int32?

    /// Describes a failure that the system's error number does not tell.
    public init(_ code: Code, subject: String, message: String) {
        self.init(code, subject: subject, message: message, errno: nil)
    }

    private init(_ code: Code, subject: String, message: String, errno: Int32?) {
        self.code = code
        self.subject = subject
        self.message = message
        self.errno = errno
    }

    /// Describes a failed system call; the code follows from the error number.
    public init(_ call: String, subject: String, errno: Int32) {
        switch errno {
        case ENOSPC, EDQUOT, EIO, EROFS: code = .storage
        case EWOULDBLOCK: code = .locked
        default: code = .unusable
        }
        self.subject = subject
        let advice = errno == EROFS ? "; mount it for writing, or copy the cache elsewhere" : ""
        self.message = "\(call): \(String(cString: strerror(errno)))\(advice)"
        self.errno = errno
    }

    /// Describes a file that is not read because it is sparse. Nothing is known of its bytes.
    init(sparse subject: String, size: Int64, allocated: Int64) {
        self.init(
            .obstructed, subject: subject,
            message: "is not read: it has \(size) bytes, but takes only \(allocated) on the disk",
            errno: EFBIG)
    }

    /// Describes a failure of the index's database, or of one beside it.
    public init(index subject: String, _ error: any Error) {
        guard let error = error as? DatabaseError else {
            self.init(.index, subject: subject, message: "\(error)")
            return
        }
        let message = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
        switch error.resultCode {
        case .SQLITE_FULL: self.init("write", subject: subject, errno: ENOSPC)
        case .SQLITE_IOERR where HelperThread.lacksRoom, .SQLITE_NOMEM:
            self.init(.unusable, subject: subject, message: "out of memory (ulimit -v)")
        case .SQLITE_IOERR where Self.isFull(subject):
            self.init("write", subject: subject, errno: ENOSPC)
        case .SQLITE_IOERR:
            // Not the connection's own word, which may know of nothing: a copy has two.
            let message = String(cString: sqlite3_errstr(SQLITE_IOERR))
            self.init(.storage, subject: subject, message: message + Self.fileLimit)
        case .SQLITE_BUSY, .SQLITE_LOCKED: self.init(.locked, subject: subject, message: message)
        case .SQLITE_READONLY where error.extendedResultCode == .SQLITE_READONLY_DBMOVED,
            .SQLITE_PERM, .SQLITE_AUTH:
            self.init(.unusable, subject: subject, message: message)
        case .SQLITE_READONLY, .SQLITE_CANTOPEN: self.init(unopened: subject, message)
        // SQLITE_ERROR is what a file without larder's tables leads to.
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT, .SQLITE_ERROR, .SQLITE_TOOBIG,
            .SQLITE_MISMATCH:
            self.init(damaged: subject, message)
        case .SQLITE_INTERRUPT:
            // Of ``StepLimit``: who cancels does not ask what it was.
            self.init(damaged: subject, "takes more steps than its size explains")
        default: self.init(.index, subject: subject, message: message)
        }
    }

    private init(damaged subject: String, _ message: String) {
        self.init(
            .damaged, subject: subject,
            message: "\(message); the next prefetch, or larder reindex, rebuilds the index")
    }

    private init(unopened subject: String, _ message: String) {
        let number = Self.refusal(of: subject)
        switch number {
        case 0, EIO, EROFS: self.init(.storage, subject: subject, message: message)
        default: self.init("open", subject: subject, errno: number)
        }
    }

    private static func refusal(of subject: String) -> Int32 {
        if isShortOfDescriptors { return EMFILE }
        guard subject.hasPrefix("/"),
            faccessat(AT_FDCWD, subject, R_OK | W_OK, AT_EACCESS) != 0
        else { return 0 }
        guard Foundation.errno == ENOENT else { return Foundation.errno }
        // It was about to be made.
        let directory = subject.parentDirectory
        return faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : Foundation.errno
    }

    /// Whether the disk is full: SQLite calls that an I/O error if it maps the file.
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
        return " (this process may make files of \(limit.rlim_cur) bytes at most: ulimit -f)"
    }

    /// The same error with the cache's path before a subject beneath it, and with advice.
    public func located(inCacheAt path: String) -> CacheError {
        let isBeneath = errno != nil && !subject.hasPrefix("/") && !subject.contains("://")
        let isOwn = CacheLayout.ownNames.contains { subject == $0 || subject.hasPrefix("\($0)/") }
        let advice = hint.map { message.hasSuffix($0) ? "" : "; \($0)" } ?? ""
        return CacheError(
            code, subject: isBeneath ? path + (isOwn ? "/" : ": ") + subject : subject,
            message: message + advice, errno: errno)
    }

    private var hint: String? {
        switch errno {
        case ENOSPC, EDQUOT: "larder evict --min-free 1GB makes room"
        case EMFILE, ENFILE: "the limit on open files is too low (ulimit -n)"
        default: nil
        }
    }

    /// Whether there are fewer left than a connection takes: it has closed its own by now.
    private static var isShortOfDescriptors: Bool {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        for _ in 0..<8 {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return true }
            opened.append(descriptor)
        }
        return false
    }

    var isDamage: Bool { code == .damaged }
    /// Whether the path leads to no file, to a link or to a socket.
    var isAbsence: Bool { [ENOENT, ENOTDIR, ELOOP, ENXIO].contains(errno) }
    /// Whether it is about a file that was not read because it is sparse (``SparseBudget``).
    package var isSparse: Bool { code == .obstructed && errno == EFBIG }
    /// Whether an object's bytes are gone, wrong, or not read because its file is sparse.
    package var isOfDamagedObject: Bool { code == .corrupt || isSparse }

    /// Whether it is about an object's file alone, which is damaged, hidden or cannot be read.
    package var isOfObject: Bool {
        code == .corrupt || code == .obstructed
            || [EACCES, EIO].contains(errno) && subject.utf8.starts(with: "objects/".utf8)
    }

    /// `subject: message`.
    public var description: String { "\(subject): \(message)" }

    /// Whether one place in the object tree is missing, foreign, a link, or may not be entered.
    var isOutOfReach: Bool { isAbsence || errno == EACCES }

    /// The same error as one of a single object's place; nil if it concerns the whole cache.
    var obstruction: CacheError? {
        switch errno {
        case EISDIR, ENOTDIR, ELOOP, ENXIO:
            CacheError(
                .obstructed, subject: subject,
                message: "\(message); larder verify --repair moves away what is in its place")
        case EACCES, EPERM, EBUSY, EXDEV:
            CacheError(.obstructed, subject: subject, message: message)
        default: nil
        }
    }
}
