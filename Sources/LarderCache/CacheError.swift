import Foundation
import GRDB

/// What stops work on a cache: a code, the subject it happened to, and the cause beneath.
public struct CacheError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it is; decides the exit status.
    public enum Code: String, Sendable, CaseIterable {
        /// The disk is full or failing, or turned read-only: ENOSPC, EDQUOT, EIO, EROFS.
        case storage
        /// The root cannot be used as a cache: permissions, a link, a network file system.
        case unusable
        /// There is no cache at that path.
        case missing
        /// Another process holds the lock.
        case locked
        /// The index is damaged, or of a version this program does not know.
        case index
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

    /// Describes a failure of the index's database.
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
        case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH:
            self.init(.unusable, subject: subject, message: message)
        default:
            self.init(.index, subject: subject, message: message)
        }
    }

    /// Whether the system said that the path leads to no file, or would have to follow a link.
    var isAbsence: Bool { errno == ENOENT || errno == ENOTDIR || errno == ELOOP }

    /// `subject: message`.
    public var description: String { "\(subject): \(message)" }
}
