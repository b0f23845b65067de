import Foundation
import LarderCore

/// An error of ``OfflineIcons``.
public struct OfflineIconsError: Error, Sendable, CustomStringConvertible {
    /// The kind of error.
    public enum Code: String, Sendable {
        /// Icons were missing.
        case missing
        /// The manifest cannot be read.
        case manifest
        /// The list of missing icons cannot be written.
        case list
        /// Another instance serves `URLSession.shared`.
        case shared
    }

    /// The kind of error.
    public let code: Code
    /// The file or session concerned, or the number of missing icons.
    public let subject: String
    /// The description, without the subject.
    public let message: String
    /// The icons that were requested but could not be served.
    public let missing: [OfflineIcons.MissingIconError]
    /// The cause, if it is another error.
    public let underlying: (any Error)?

    /// The subject and the message.
    public var description: String { "\(subject) \(message)" }

    init(_ code: Code, subject: String, message: String, underlying: (any Error)? = nil) {
        (self.code, self.subject, self.message) = (code, subject, message)
        (missing, self.underlying) = ([], underlying)
    }

    init(_ missing: [OfflineIcons.MissingIconError], list: String?, _ failure: OfflineIconsError?) {
        code = .missing
        subject = missing.count.of("icon")
        var lines = missing.prefix(50).map { "  \($0)" }
        if missing.count > lines.count { lines.append("  and \(missing.count - lines.count) more") }
        if let list { lines.append("These URLs are also in \(list), for `larder prefetch`.") }
        if let failure { lines.append("\(failure)") }
        message = "could not be returned:\n\(lines.joined(separator: "\n"))"
        (self.missing, underlying) = (missing, failure)
    }
}

/// A file with one line for each URL, to which several processes can append.
struct MissingList {
    let path: String

    init(_ file: URL) throws(OfflineIconsError) {
        path = file.path
        // A file of a different kind may be the user's manifest, and must not be extended.
        let start = (try? FileHandle(forReadingFrom: file).read(upToCount: 4)) ?? Data()
        guard start.isEmpty || start.elementsEqual("http".utf8) else {
            throw failure("is not a list of URLs")
        }
    }

    func add(_ url: String) throws(OfflineIconsError) {
        let file = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(String(cString: strerror(errno))) }
        defer { close(file) }
        // The lock is held until the file is closed, because other instances may add the same URL.
        flock(file, LOCK_EX)
        let handle = FileHandle(fileDescriptor: file)
        do {
            let text = try handle.readToEnd() ?? Data()
            let newline = UInt8(ascii: "\n")
            let isListed = text.split(separator: newline).contains { $0.elementsEqual(url.utf8) }
            guard !isListed else { return }
            // An editor may have removed the newline at the end.
            let start = [nil, newline].contains(text.last) ? "" : "\n"
            try handle.write(contentsOf: Data("\(start)\(url)\n".utf8))
        } catch {
            throw failure("cannot be written")
        }
    }

    private func failure(_ message: String) -> OfflineIconsError {
        OfflineIconsError(
            .list, subject: path, message: "\(message); use another file for missing icons")
    }
}
