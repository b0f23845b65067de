import Foundation
import GRDB

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
    }

    /// What kind of failure it is.
    public let code: Code
    /// The file, directory, URL or digest concerned.
    public let subject: String
    /// What happened, in words.
    public let message: String
    /// The system's error number, where one is behind it.
    public let errno: Int32?
    /// Describes a failure that the system's error number does not tell.
    public init(_ code: Code, subject: String, message: String) {
        self.code = code
        self.subject = subject
        self.message = message
        self.errno = nil
    }

    /// Describes a failed system call; the code follows from the error number.
    public init(_ call: String, subject: String, errno: Int32) {
        switch errno {
        case ENOSPC, EDQUOT, EIO, EROFS: code = .storage
        case EWOULDBLOCK: code = .locked
        default: code = .unusable
        }
        self.subject = subject
        self.message = "\(call): \(String(cString: strerror(errno)))"
        self.errno = errno
    }

    /// Describes a failure of the index's database, or of one beside it.
    public init(index subject: String, _ error: any Error) {
        guard let error = error as? DatabaseError else {
            self.init(.index, subject: subject, message: "\(error)")
            return
        }
        let message = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
        switch error.resultCode {
        case .SQLITE_FULL, .SQLITE_IOERR:
            self.init(.storage, subject: subject, message: message)
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(.locked, subject: subject, message: message)
        case .SQLITE_PERM, .SQLITE_AUTH:
            self.init(.unusable, subject: subject, message: message)
        case .SQLITE_READONLY, .SQLITE_CANTOPEN:
            let isMoved = error.extendedResultCode == .SQLITE_READONLY_DBMOVED
            self.init(
                isMoved ? .unusable : Self.code(ofUnopened: subject), subject: subject,
                message: message)
        // The last is what a file without larder's tables leads to.
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT, .SQLITE_ERROR:
            self.init(
                .damaged, subject: subject,
                message: "\(message); the next prefetch, or larder reindex, rebuilds the index"
            )
        default:
            self.init(.index, subject: subject, message: message)
        }
    }

    /// Why a file could not be opened, or for reading alone, which SQLite keeps to itself: for want of
    /// descriptors or of permission, else because the disk failed.
    ///
    /// - Parameter subject: its path; anything else is of this run's own making, and permitted.
    private static func code(ofUnopened subject: String) -> Code {
        if isShortOfDescriptors { return .unusable }
        let isPath = subject.hasPrefix("/")
        let isRefused = isPath && faccessat(AT_FDCWD, subject, R_OK | W_OK, AT_EACCESS) != 0
        return isRefused && [EACCES, EPERM].contains(Foundation.errno) ? .unusable : .storage
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

    /// Whether the index's file is not what SQLite or larder left: no fault of disk, rights or locks.
    var isDamage: Bool { code == .damaged }

    /// Whether the system said that the path leads to no file, would have to follow a link, or leads to
    /// a socket, which cannot be opened.
    var isAbsence: Bool { [ENOENT, ENOTDIR, ELOOP, ENXIO].contains(errno) }

    /// `subject: message`.
    public var description: String { "\(subject): \(message)" }
}
