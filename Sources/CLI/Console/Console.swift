import Foundation
import LarderCache
import LarderCore
import LarderManifest
import Synchronization

enum Console {
    static let statusLine = StatusLine()
    private static let output = Mutex(Output())

    private struct Output {
        var buffer: [UInt8] = []
        var failure: Int32?

        mutating func flush() {
            let bytes = buffer
            buffer.removeAll(keepingCapacity: true)
            guard failure == nil, !bytes.isEmpty else { return }
            failure = bytes.withUnsafeBytes {
                StandardStreams.send($0, to: STDOUT_FILENO, patience: -1).failure
            }
        }
    }

    private static let bufferLimit = isatty(STDOUT_FILENO) == 1 ? 1 : 4096

    static func complain(_ message: String) {
        writeMessage("larder: \(message.sanitizedForTerminal)")
    }

    static func writeMessage(_ message: String) {
        let width = Terminal.textWidth(of: STDERR_FILENO)
        write((Terminal.isThere ? message.wrapped(to: width, hanging: 2) : message) + "\n")
    }

    static func write(_ text: String) { statusLine.around { StandardStreams.write(text) } }

    static func add(_ text: String) {
        output.withLock { output in
            if output.failure != nil { return }
            output.buffer += text.utf8
            if output.buffer.count >= bufferLimit { output.flush() }
        }
    }

    static func print(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try print($0) } }

    static func print(_ bytes: UnsafeRawBufferPointer) throws {
        try flush()
        let failure = StandardStreams.send(bytes, to: STDOUT_FILENO, patience: -1).failure
        if let failure { throw CacheError.ofStandardOutput(failure) }
    }

    /// Writes the buffered output. Throws once if output was lost.
    static func flush() throws {
        let failure = output.withLock { output in
            output.flush()
            defer { output.failure = nil }
            return output.failure
        }
        // The reader may close the pipe early, as in `larder list | head`.
        guard let failure, failure != EPIPE else { return }
        throw CacheError.ofStandardOutput(failure)
    }
}

/// Replaces Swift's `print`, which ignores errors. C's buffer can also lose text silently.
func print(_ text: String, terminator: String = "\n") { Console.add(text + terminator) }

func nonzero(_ counts: [(Int, String)]) -> [String] {
    let texts = counts.filter { $0.0 != 0 }.map { $0.1 }
    return texts.isEmpty ? counts.prefix(1).map { $0.1 } : texts
}

func counted(_ counts: [(Int, String)]) -> [String] {
    counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
}

func sizeClause(_ bytes: Int64) -> String { bytes > 0 ? ", \(ByteText.describe(bytes))" : "" }

struct MissingInputError: Error, CustomStringConvertible {
    let description: String

    static func checkDirectory(_ path: String) throws(MissingInputError) {
        if path.isDirectory == true { return }
        let reason = path.isDirectory == nil ? "no such directory" : "not a directory"
        throw MissingInputError(description: "\(path): \(reason)")
    }

    static func check(_ file: String?, for option: String) throws(MissingInputError) {
        guard let file else { return }
        guard !file.isEmpty else {
            throw MissingInputError(description: "\(option) needs the name of a file")
        }
        let number = file.isDirectory == true ? EISDIR : access(file, R_OK) == 0 ? 0 : errno
        guard number == 0 else {
            let isManifest = number == ENOENT && option == "--manifest"
            let advice = isManifest ? ManifestSource.adviceOnMissing(file) : ""
            throw MissingInputError(
                description: "\(option): \(file): \(String(cString: strerror(number)))\(advice)")
        }
    }

    static func checkCertificates(_ file: String, for option: String) throws(MissingInputError) {
        var status = stat()
        guard stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
        let url = URL(fileURLWithPath: file)
        let bytes = (try? Data(contentsOf: url, options: .alwaysMapped)) ?? Data()
        let forms = ["", "TRUSTED ", "X509 "].map { Data("-----BEGIN \($0)CERTIFICATE-----".utf8) }
        let hasCertificate = forms.contains { form in
            guard let start = bytes.range(of: form)?.upperBound,
                let end = bytes.range(of: Data("-----END ".utf8), in: start..<bytes.endIndex)
            else { return false }
            // A certificate is an ASN.1 sequence, whose first byte is 0x30.
            return Data(
                base64Encoded: bytes[start..<end.lowerBound], options: .ignoreUnknownCharacters
            )?.first == 0x30
        }
        guard hasCertificate else {
            throw MissingInputError(
                description: "\(option): \(file): no certificate in PEM format;"
                    + " a PEM file has a line -----BEGIN CERTIFICATE-----")
        }
    }
}

extension String {
    var isDirectory: Bool? {
        var isDirectory: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: self, isDirectory: &isDirectory)
        return exists ? isDirectory.boolValue : nil
    }
}

extension JSONObject {
    init(errorCode code: String, message: String) {
        self = ["code": code, "message": message.sanitizedForTerminal]
    }
}

extension CacheError {
    var json: JSONObject { JSONObject(errorCode: code.rawValue, message: description) }

    /// Drops the `errno`, because errors with an `errno` get the path of the cache.
    var ofOutput: CacheError {
        let folder = subject.parentDirectory
        let isMissing = errno == ENOENT && access(folder, F_OK) != 0
        let advice = "the directory \(folder.quoted(limit: 200)) does not exist; create it first"
        return CacheError(code, subject: subject, message: isMissing ? advice : message)
    }

    /// Uses the code `.storage` for every error number, because part of the result is lost.
    static func ofStandardOutput(_ errno: Int32) -> CacheError {
        CacheError(
            .storage, subject: "standard output",
            message: "write: \(String(cString: strerror(errno)))")
    }
}
